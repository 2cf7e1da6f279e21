/*
 * Links whose closing keeps the caller waiting in the kernel, which lets every program run out first (some 50 ms each on Linux
 * 6.18): threads of its own wait, for many at the same time, and go when there is nothing left to close.
 */
#ifndef STALLPROF_PROFILER_LINK_CLOSER_H
#define STALLPROF_PROFILER_LINK_CLOSER_H

struct bpf_link;
struct link_closer;

struct open_link {
	int fd;                /* of a link that libbpf does not know; -1 */
	struct bpf_link *link; /* or one that it does */
	struct open_link *next;
};

/* NULL without memory. */
struct link_closer *link_closer_new(unsigned int threads_max);
/* Closes the list's links and frees the list, some time. Where there can be no thread, at once. */
void link_closer_close(struct link_closer *closer, struct open_link *links);
/* Waits until all are closed. */
void link_closer_free(struct link_closer *closer);

#endif
