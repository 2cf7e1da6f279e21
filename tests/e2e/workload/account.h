/*
 * The times that a thread of `truth` measures of itself: what it spent under its tag, and in its blocking calls.
 *
 *   outer bracket   before push ........................................ after pop
 *   inner bracket          after push .......................... before pop
 *   a call                        call_begin ... call_end
 *
 * A profiler sees a tag change somewhere inside push and inside pop, so the right wall time of a tag lies
 * between the inner and the outer bracket. They differ by some microseconds a tag, which only counts at
 * many tag changes a second.
 *
 * stalled_ns is the sum over calls of wall - cpu - runqueue of that call; asleep_ns is the same over the
 * whole tag, so asleep - stalled is what the thread slept outside of its declared calls.
 *
 * Since Linux 6.12 a thread that goes to sleep may stay on its run queue for a while. If it is moved to another
 * CPU then, the kernel counts the rest of its sleep as time on a run queue. Whoever moves threads says so in moved_at_ns;
 * moved_queue_ns sums the run queue of calls that look like this, which may have been slept.
 *
 * Everything here belongs to the thread that called account_open(); others may read it after that thread
 * ended.
 */
#ifndef WORKLOAD_ACCOUNT_H
#define WORKLOAD_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/e2e/workload/clocks.h"

/* The sums up to one moment, for a profiler that saw only a part of the run. All in ns, and under the tag only. */
struct trace_point {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint64_t wall_ns, cpu_ns, runqueue_ns;
	int64_t stalled_ns;
};

struct totals {
	uint64_t wall_ns, wall_outer_ns;
	uint64_t cpu_ns, cpu_outer_ns;
	uint64_t runqueue_ns;
	int64_t stalled_ns, asleep_ns;
	uint64_t calls, bytes, tags;
	uint64_t sleeps;         /* voluntary context switches, by getrusage */
	uint64_t preemptions;    /* involuntary ones */
	uint64_t migrations;     /* how often the CPU had changed when the thread looked */
	uint64_t blkio_delay_ns; /* see thread_blkio_delay_ns() */
	uint64_t warm_pages;     /* pages that should have been cold and were in the cache */
	uint64_t moved_queue_ns; /* of runqueue_ns: what may have been slept, see above */
};

struct account {
	const char *tag_name;
	uint64_t next_id;
	pid_t tid;
	struct totals sum;
	struct thread_clock clock;
	struct moment tag_began, call_began;
	uint64_t outer_wall_ns, outer_cpu_ns, blkio_delay_ns;
	int64_t call_stalled_ns; /* of the open tag */
	int cpu;
	_Atomic uint64_t
	        moved_at_ns; /* CLOCK_MONOTONIC; written by another thread before it moves this one */
	struct trace_point *trace;
	size_t points, points_max, points_lost;
	int err; /* the first error of a clock; the sums are invalid then */
};

/* Ids count up from `first_id`. With points_max > 0 a trace is kept, of at most one point a millisecond and
 * call. 0 or -errno. The account must be zeroed, or have been closed. */
int account_open(struct account *account, const char *tag_name, uint64_t first_id, size_t points_max);
/* Takes the last figures (context switches, block I/O delay) and closes the clocks; sums and trace stay. */
void account_close(struct account *account);
void account_free(struct account *account); /* drops the trace */

/* Push the next tag, and pop it. Call them in turns. */
void account_tag_begin(struct account *account);
void account_tag_end(struct account *account);

/* Call these around each blocking call, between tag_begin and tag_end. */
void account_call_begin(struct account *account);
void account_call_end(struct account *account);

/* Adds a point to the trace if the last is 1 ms old; for threads that make no calls. */
void account_look(struct account *account);

#endif
