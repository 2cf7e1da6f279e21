/*
 * sleeps PID FILE: every sleep of the process PID, and of all that it and its children start from now on, into FILE.
 *
 * Prints "ready" when its programs are attached, and ends at the end of its standard input. FILE is text, a line each:
 *   s TID TGID OUT WAKING WAKE IN FLAGS SYSCALL STACK WAKER   a sleep (sleeps.h)
 *   k STACK ADDRESS...                                 a kernel stack, innermost first
 *   t TID TGID ONCPU RUNQ SLEPT SLEEPS SWITCHES COMM   a thread's sums
 *   l COUNT                                            sleeps that were lost, as the ring was full
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sleeps.h"
#include "sleeps.skel.h"

#define DRAIN_MS 20

static int on_record(void *out, void *data, size_t size)
{
	const struct sleep_record *sleep = data;

	(void)size;
	fprintf(out, "s %d %d %llu %llu %llu %llu %u %u %d %d\n", sleep->tid, sleep->tgid, sleep->out_ns,
	        sleep->waking_ns, sleep->wake_ns, sleep->in_ns, sleep->flags, sleep->syscall, sleep->stack,
	        sleep->waker);
	return 0;
}

static void stacks_print(FILE *out, int map)
{
	unsigned long long addresses[SLEEPS_STACK_DEPTH];
	int id, next, *last = NULL;

	while (!bpf_map_get_next_key(map, last, &next)) {
		id = next;
		last = &id;
		memset(addresses, 0, sizeof(addresses));
		if (bpf_map_lookup_elem(map, &id, addresses))
			continue;
		fprintf(out, "k %d", id);
		for (int i = 0; i < SLEEPS_STACK_DEPTH && addresses[i]; i++)
			fprintf(out, " %llx", addresses[i]);
		fputc('\n', out);
	}
}

static void totals_print(FILE *out, int map)
{
	struct traced_thread thread;
	int tid, next, *last = NULL;

	while (!bpf_map_get_next_key(map, last, &next)) {
		const struct thread_total *total = &thread.total;

		tid = next;
		last = &tid;
		if (!bpf_map_lookup_elem(map, &tid, &thread))
			fprintf(out, "t %d %d %llu %llu %llu %llu %llu %.16s\n", tid, total->tgid,
			        total->oncpu_ns, total->runq_ns, total->slept_ns, total->sleeps,
			        total->switches, total->comm);
	}
}

static void follow(struct ring_buffer *ring)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	while (poll(&input, 1, DRAIN_MS) == 0)
		ring_buffer__consume(ring);
	ring_buffer__consume(ring);
}

static struct sleeps_bpf *tracer_open(int pid)
{
	struct sleeps_bpf *tracer = sleeps_bpf__open_and_load();
	int one = 1;

	if (!tracer)
		return NULL;
	if (!bpf_map_update_elem(bpf_map__fd(tracer->maps.watched), &pid, &one, BPF_ANY) &&
	    !sleeps_bpf__attach(tracer))
		return tracer;
	sleeps_bpf__destroy(tracer);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sleeps_bpf *tracer;
	struct ring_buffer *ring;
	FILE *out;

	if (argc != 3) {
		fprintf(stderr, "usage: sleeps PID FILE\n");
		return 2;
	}
	out = fopen(argv[2], "we");
	tracer = tracer_open((int)strtol(argv[1], NULL, 10));
	ring = tracer && out ? ring_buffer__new(bpf_map__fd(tracer->maps.records), on_record, out, NULL)
	                     : NULL;
	if (!ring) {
		fprintf(stderr, "sleeps: cannot start: %s\n", strerror(errno));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	follow(ring);
	sleeps_bpf__detach(tracer);
	ring_buffer__consume(ring);
	stacks_print(out, bpf_map__fd(tracer->maps.stacks));
	totals_print(out, bpf_map__fd(tracer->maps.threads));
	fprintf(out, "l %llu\n", (unsigned long long)tracer->bss->records_lost);
	ring_buffer__free(ring);
	sleeps_bpf__destroy(tracer);
	return fclose(out) ? 1 : 0;
}
