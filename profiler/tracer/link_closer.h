/*
 * Closes BPF links in threads of its own. Closing one waits in the kernel until every running program has ended
 * (some 50 ms each on Linux 6.18); the threads wait for many at the same time, and end when there is nothing left
 * to close.
 */
#ifndef STALLPROF_PROFILER_LINK_CLOSER_H
#define STALLPROF_PROFILER_LINK_CLOSER_H

struct bpf_link;
struct link_closer;

struct open_link {
	int fd;                /* a link that libbpf does not know, else -1 */
	struct bpf_link *link; /* a link that it does know */
	struct open_link *next;
};

/* NULL without memory. */
struct link_closer *link_closer_new(unsigned int threads_max);
/* Closes the list's links and frees the list, some time later; at once if no thread can be started. */
void link_closer_close(struct link_closer *closer, struct open_link *links);
/* Waits until all are closed. */
void link_closer_free(struct link_closer *closer);

#endif
