/*
 * A report's axis of time: Unix time in nanoseconds, without the stretches that are cut out of it. A moment on it is as much earlier as was
 * cut before it. Without cuts it is Unix time itself.
 *
 * Moments on the axis are what series, views and incidents have (report_view.h); what is told to anybody is Unix time again.
 */
#ifndef STALLPROF_PROFILER_REPORT_AXIS_H
#define STALLPROF_PROFILER_REPORT_AXIS_H

#include <stddef.h>
#include <stdint.h>

struct timeline;

struct report_cut {
	uint64_t from_ns, to_ns; /* Unix time */
	uint64_t before_ns;      /* cut before it, in all */
};

/* Zeroed at first. */
struct report_axis {
	struct report_cut *cuts; /* by time, none beside each other */
	size_t n, room;
};

void report_axis_free(struct report_axis *axis);

/* Cuts [from_ns, to_ns) of Unix time out, which may have cuts in it or touch some. 0 or -ENOMEM. */
int report_axis_cut(struct report_axis *axis, uint64_t from_ns, uint64_t to_ns);

/* Cuts the middle out of each stretch longer than twice `edge_ns` in which no lane has a point: `edge_ns` and more stay before and behind
 * it, so that what ends or begins beside it does so on the axis, too. Cuts are multiples of `grain_ns`. 0 or -ENOMEM. */
int report_axis_cut_gaps(struct report_axis *axis, const struct timeline *timeline, uint64_t edge_ns,
                         uint64_t grain_ns);

/* Where a Unix time is on the axis; of one in a cut: where that is. */
uint64_t report_axis_at(const struct report_axis *axis, uint64_t unix_ns);
/* The Unix time of a moment on the axis; where a cut is: of its end. */
uint64_t report_axis_unix(const struct report_axis *axis, uint64_t at_ns);

#endif
