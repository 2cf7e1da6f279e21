/*
 * A profile's timeline as the report looks at it: the lanes of lost time, and the part of the run in which threads were
 * tagged.
 *
 * Lost time is all that threads with pushed tags are not on the CPU, or wait on it (report_spins.h), but for blocked waits of classes that idle
 * (report_loop.h), where a loop is known: a loader's workers are blocked while they have nothing to do. Without any pushed tags all classes
 * count, but for blocked waits, as threads of a process are blocked while they idle.
 */
#ifndef STALLPROF_PROFILER_REPORT_VIEW_H
#define STALLPROF_PROFILER_REPORT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/format/timeline.h"
#include "profiler/report/report_axis.h"
#include "profiler/report/report_loop.h"
#include "profiler/report/report_series.h"
#include "profiler/report/report_spins.h"

#define REPORT_AWAY_NS 10000000000ULL /* shorter pauses are how a workload goes */

struct loaded_profiles;

/* What one of two profiles that are compared could not see (report_untold.h). */
#define REPORT_UNTOLD_MAX       64
#define REPORT_UNTOLD_WHY_BYTES 160

struct report_untold_cause {
	enum timeline_kind kind; /* a stall or blocked */
	const char *name;        /* the timeline's */
	bool of_other;           /* the given baseline does not tell it; else the profile itself */
	char why[REPORT_UNTOLD_WHY_BYTES];
};

struct report_untold {
	struct report_untold_cause cause[REPORT_UNTOLD_MAX]; /* what is beyond counts as told */
	size_t n;
};

struct report_view {
	const struct loaded_profiles *input;
	const struct timeline *timeline;
	struct report_axis
	        axis; /* which the times below, and those of its series, are on: without what is between profiles, where that is long */
	uint64_t begin_ns, end_ns; /* without what is before and after the tagged threads' usual number */
	bool pushed;               /* some tags are pushed ones */
	const char **classes;      /* those of processes, which then do not count */
	size_t n_classes;
	const char *steps; /* the class whose tags are the steps; NULL: none has several */
	struct report_loop loop;
	struct report_spins spins;
	bool without_spins; /* they do not count: what this is compared with does not tell of any */
	const struct report_untold *untold; /* likewise, of other causes; NULL: none */
};

typedef bool (*report_wants_fn)(const struct report_view *view, const struct timeline_lane *lane,
                                const void *ctx);

/* `steps`: the class of the steps; NULL: the one with the word step in its name (PyTorch's optimizer_step only where there is no other),
 * else the one with most tags. 0; -ENODATA: no timeline, or nothing in it; -ENOMEM. Only after 0 is there something to close. */
int report_view_open(struct report_view *view, const struct loaded_profiles *input, const char *steps);
void report_view_close(struct report_view *view);

/* Whether time of this class counts as lost. */
bool report_view_counts(const struct report_view *view, const char *class);

/* The tags of the class `class`, a text, when they began. */
bool report_view_is_steps(const struct report_view *view, const struct timeline_lane *lane,
                          const void *class);

/* Whether it is of the lane's cause, as waits on a CPU are of that of those off it. `untold` NULL: there are none. */
bool report_view_is_untold(const struct report_untold *untold, const struct timeline_lane *lane);

/* Whether the lane is lost time. */
bool report_view_is_lost(const struct report_view *view, const struct timeline_lane *lane,
                         const void *unused);

/* Whether the lane is time of threads that count, lost or not. All such lanes together have each nanosecond once. */
bool report_view_is_time(const struct report_view *view, const struct timeline_lane *lane,
                         const void *unused);

/* In which places of a series of the view's time the tagged threads are there: all but stretches of REPORT_AWAY_NS and longer with less than a
 * quarter of their usual number. *there: the caller frees it. 0 or -ENOMEM. */
int report_view_there(bool **there, const struct report_view *view, const struct report_series *series);

/* Cuts the other places out of the view's axis, as they are no part of a run that is compared with. `step_ns`: of the places. 0 or -ENOMEM. */
int report_view_cut_away(struct report_view *view, uint64_t step_ns);

/* Whether the timeline had room for all: else it says of some threads nothing. */
bool report_view_is_whole(const struct report_view *view);

/* How much of the view's time was recorded, what is between several profiles left out. */
double report_view_covered_ns(const struct report_view *view);

/* The width of the widest buckets of what the ledger tells; TIMELINE_LEDGER_BUCKET_NS or more. */
uint64_t report_view_bucket(const struct report_view *view);

/* The sum of the lanes that are wanted. As report_series_new(). */
int report_view_sum(struct report_series *series, const struct report_view *view, uint64_t begin_ns,
                    uint64_t end_ns, uint64_t step_ns, report_wants_fn wants, const void *ctx);

#endif
