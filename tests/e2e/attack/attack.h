/*
 * What the workloads of the attack share: tags that say when they were held, by clocks of their own.
 *
 * tag_close() prints a line of JSON, all of CLOCK_MONOTONIC and of the thread's own counts (../workload/clocks.h):
 *   {"tag", "tid", "begin_ns", "end_ns", "outer_begin_ns", "outer_end_ns", "cpu_ns", "runqueue_ns",
 *    "steal_ns"}
 * A profiler sees the push and the pop somewhere inside of them: between begin and outer_begin, end and outer_end.
 * steal_ns is what the hypervisor may have taken from all CPUs meanwhile: counted in ticks, so up to one more than was seen. None on a
 * host from which nothing was ever taken.
 */
#ifndef ATTACK_H
#define ATTACK_H

#include <stdint.h>
#include <sys/types.h>

#include "tests/e2e/workload/clocks.h"

struct held_tag {
	const char *name;
	struct thread_clock clock;
	struct moment began;
	uint64_t outer_begin_ns;
	uint64_t stolen_before_ns;
};

/* Pushes the tag. On the thread that closes it. */
void tag_open(struct held_tag *tag, uint64_t id, const char *name);
void tag_close(struct held_tag *tag);

/* Ends the program with a line about `what` and errno unless `ok`. */
void must(int ok, const char *what);

pid_t thread_id(void);
void sleep_ms(unsigned int ms);

/* Uses the CPU until it has had so much of it. */
void spin_ms(unsigned int ms);

/* A page-aligned buffer, filled. */
void *aligned_buffer(size_t bytes);

/* "name=number" of the arguments, else the default. */
long argument(int argc, char **argv, const char *name, long otherwise);
const char *argument_text(int argc, char **argv, const char *name, const char *otherwise);

#endif
