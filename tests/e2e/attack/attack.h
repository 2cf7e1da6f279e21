/*
 * Shared by the workloads in this folder: tags that print when they were held, by their threads' own clocks.
 *
 * tag_close() prints a line of JSON, times by CLOCK_MONOTONIC and by the thread's own counts (../workload/clocks.h):
 *   {"tag", "tid", "begin_ns", "end_ns", "outer_begin_ns", "outer_end_ns", "cpu_ns", "runqueue_ns",
 *    "steal_ns"}
 * A profiler sees the push and the pop somewhere inside of them: between begin and outer_begin, end and outer_end.
 * steal_ns is the most time that the hypervisor can have taken from all CPUs meanwhile: it is counted in ticks, so
 * one tick is added. 0 on a host from which nothing was ever taken.
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

/* Pushes the tag. Call it on the thread that closes the tag. */
void tag_open(struct held_tag *tag, uint64_t id, const char *name);
void tag_close(struct held_tag *tag);

/* Unless `ok`, prints `what` and errno and exits with 1. */
void must(int ok, const char *what);

/* Until a profiler has come to this process, 20 s at most: listens to its tags, or has a breakpoint on this function of a library. */
void wait_until_heard(void);
void wait_until_hooked(const void *function);

pid_t thread_id(void);
void sleep_us(unsigned int us);
void sleep_ms(unsigned int ms);

/* Spins until the thread has used that much CPU time. */
void spin_ms(unsigned int ms);

/* The same to the microsecond, as it looks at the clock all the time. */
void compute_us(unsigned int us);

/* A page-aligned buffer, filled. */
void *aligned_buffer(size_t bytes);

/* The number of an argument "name=number", else the default. */
long argument(int argc, char **argv, const char *name, long otherwise);
const char *argument_text(int argc, char **argv, const char *name, const char *otherwise);

#endif
