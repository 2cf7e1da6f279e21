/*
 * When it was: the timeline of a window (profiler/format/timeline.h).
 *
 * Stalls, blocked waits and waits on a CPU come from the samples; on-CPU, run queue and steps from the rows that the ledger had each time that it
 * was taken. Times are of CLOCK_MONOTONIC and become Unix times. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_WINDOW_TIMELINE_H
#define STALLPROF_PROFILER_WINDOW_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct abi_event;
struct timeline;
struct timeline_lane;

#define WINDOW_TAKEN_CLASSES 128

struct window_timeline {
	struct timeline *timeline;
	uint64_t begin_ns;       /* when it was made */
	uint64_t unix_offset_ns; /* what Unix time is ahead of CLOCK_MONOTONIC */
	uint64_t refused;        /* values that found no place */
	/* What rows of each class said since the ledger was taken before. */
	struct taken_class {
		const char *class;
		int64_t oncpu_ns, runqueue_ns, steps;
	} taken[WINDOW_TAKEN_CLASSES];
	size_t taken_count;
};

/* 0 or -ENOMEM; after either it may be released. */
int window_timeline_init(struct window_timeline *timeline);
void window_timeline_release(struct window_timeline *timeline);

/* A value of the time from begin_ns to end_ns; one that finds no place is counted in `refused`. */
void window_timeline_add(struct window_timeline *timeline, const struct timeline_lane *lane,
                         uint64_t begin_ns, uint64_t end_ns, int64_t value);

/* A wait that was sampled, or a CPU sample that is one (working_call.h), of the class, with what it waited for. */
void window_timeline_event(struct window_timeline *timeline, const struct abi_event *event, const char *class,
                           const char *name, const char *device);

/* Takes back what earlier windows told of that wait as another one, with what it seemed to wait for: from its begin on. */
void window_timeline_moved(struct window_timeline *timeline, const struct abi_event *event, const char *class,
                           const char *name, const char *device);

/* A row as the ledger had it, of an enum abi_state. `class` is told apart by its address. `is_new`: its tag was not
 * met before. */
void window_timeline_row(struct window_timeline *timeline, unsigned int state, const char *class, int64_t ns,
                         bool is_new);

/* The rows added since the last call are of the time from begin_ns to end_ns. */
void window_timeline_taken(struct window_timeline *timeline, uint64_t begin_ns, uint64_t end_ns);

#endif
