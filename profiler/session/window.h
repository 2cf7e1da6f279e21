/*
 * One window: what the ledger said and which stacks were seen, from its begin to its profile.
 *
 *     w = window_new(&deps);
 *     window_add_row(w, key, value);       the ledger's rows, as often as it is taken
 *     window_add_event(w, event);          samples
 *     profile = window_finish(w, …);       weights scaled so that the sums are the ledger's
 *     window_free(w);
 *
 * The profile has three sample types: contentions/count, delay/nanoseconds and cpu/nanoseconds. For each row (tag,
 * process, cause, device) the delays of its samples sum to the row's nanoseconds exactly; a row of which no sample
 * was kept gets the stack of a similar row (stack_pool.h), else the frame [not sampled].
 */
#ifndef STALLPROF_PROFILER_WINDOW_H
#define STALLPROF_PROFILER_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct config_gpu_jobs;
struct checkpoint_files;
struct device_names;
struct host_signals;
struct inherited_waits;
struct process_table;
struct profile;
struct stack_resolver;
struct stamp;
struct symbolizer;
struct tag_classes;
struct tag_names;
struct timeline;
struct tracer;
struct window;

/* The other parts that a window uses; all outlive it. */
struct window_deps {
	struct tracer *tracer;
	struct tag_names *tags;
	struct tag_classes *classes;
	struct device_names *devices;
	struct process_table *processes;
	const struct exec_maps *maps; /* NULL: processes that have gone have no names */
	bool without_rank;            /* samples have no label rank, as all series have it */
	struct stack_resolver *resolver;
	struct symbolizer *symbolizer;            /* NULL: what is known by its address only has no name */
	const struct config_gpu_jobs *gpu_limits; /* NULL: no job of a GPU is told */
	struct checkpoint_files *checkpoints;     /* NULL: no file is tagged */
	struct inherited_waits *inherited;        /* NULL: what the one that is waited for does is not told */
	uint64_t cpu_period_ns;
	bool host_users;  /* who used CPUs and disks is told, tagged or not */
	size_t max_bytes; /* of the profile in memory */
	size_t max_rows;  /* 0: WINDOW_ROWS_MAX */
	/* Samples are told apart by the slice of time in which they ended, of which there are at most so many, of a second
	 * and longer; 0: they are not. */
	uint32_t max_slices;
	/* Since when slices are counted, by both clocks: the recording's begin, whichever window it is. 0: the window's. */
	uint64_t slices_from_ns, slices_from_unix_ns;
};

/* Some 650 MiB if each has a tag of its own. */
#define WINDOW_ROWS_MAX 500000

enum window_type { WINDOW_CONTENTIONS, WINDOW_DELAY, WINDOW_CPU, WINDOW_RECOVERY, WINDOW_TYPES };

/* NULL with errno set. */
struct window *window_new(const struct window_deps *deps);
/* Slices are counted since then, as told by both clocks; before events are added. */
void window_slices_from(struct window *window, uint64_t ns, uint64_t unix_ns);
void window_free(struct window *window);

/*
 * 0 or -errno; -ENOSPC: the profile is full, and the sample is counted as lost: those that are kept stand for it. A row beyond
 * `max_rows`, or for which the profile has no room, is counted and left out.
 */
int window_add_row(struct window *window, const struct abi_ledger_key *key,
                   const struct abi_ledger_value *value);
int window_add_event(struct window *window, const struct abi_event *event);
/* Adds a job of a GPU. What there is no room or memory for is counted. */
void window_add_gpu_job(struct window *window, const struct abi_gpu_job *job);
/* Counts the event as lost, for one that there is no time to resolve. */
void window_lose_event(struct window *window, const struct abi_event *event);

/* The rows added since the last call are of the time from begin_ns to end_ns, by CLOCK_MONOTONIC. */
void window_rows_taken(struct window *window, uint64_t begin_ns, uint64_t end_ns);

/* Takes what was read of the host meanwhile. */
void window_take_signals(struct window *window, struct host_signals *signals);

/* When it was so far: the timeline, which lives until the window ends. */
const struct timeline *window_lanes(const struct window *window);

/* Stalled nanoseconds of the rows so far, by cause. */
void window_stalled(const struct window *window, int64_t by_cause[ABI_CAUSE_MAX]);
uint64_t window_samples(const struct window *window);

/*
 * Ends the window: scales, adds ledger and stamp as notes. `duration_ns` is measured by a clock that is never set
 * (CLOCK_MONOTONIC). The profile is the caller's; the window may only be freed afterwards. NULL with errno set.
 */
struct profile *window_finish(struct window *window, struct stamp *stamp, uint64_t begin_unix_ns,
                              uint64_t duration_ns);

/* The name of a cause or of a kind of wait, as in the label `stall`. */
const char *window_cause_name(unsigned int cause);

#endif
