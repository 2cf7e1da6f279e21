/*
 * A series: values at even distances, made of a timeline's lanes, and what is computed of it.
 *
 * A value is an amount per nanosecond, so that lanes with buckets of different widths go together: nanoseconds lost per
 * nanosecond are threads.
 */
#ifndef STALLPROF_PROFILER_REPORT_SERIES_H
#define STALLPROF_PROFILER_REPORT_SERIES_H

#include <stddef.h>
#include <stdint.h>

struct report_axis;
struct timeline;

#define REPORT_SERIES_MAX (1u << 20) /* values of one series */

struct report_series {
	uint64_t begin_ns; /* on the axis of the view that it is of (report_axis.h) */
	uint64_t step_ns;
	size_t n;
	double *v;
};

/* Zeros from begin_ns to end_ns; the steps are as wide as asked for, or wider so that there are at most
 * REPORT_SERIES_MAX. 0, -EINVAL (no time in it) or -ENOMEM. Only after 0 is there something to free. */
int report_series_new(struct report_series *series, uint64_t begin_ns, uint64_t end_ns, uint64_t step_ns);
void report_series_free(struct report_series *series);

/* Adds a lane of the timeline. What lies outside, or in a cut, is left out. */
void report_series_add(struct report_series *series, const struct report_axis *axis,
                       const struct timeline *timeline, size_t lane);

/* Replaces each value by the mean of those up to `reach` places around it. 0 or -ENOMEM. */
int report_series_smooth(struct report_series *series, size_t reach);

/* --- of values ------------------------------------------------------------------------------------------- */

/* 0 where n is 0. */
double report_mean(const double *v, size_t n);

/* The middle value, or the mean of both. `scratch` has room for n. */
double report_median(const double *v, size_t n, double *scratch);
/* The value that a part of them, from 0 to 1, are not above. */
double report_quantile(const double *v, size_t n, double part, double *scratch);

/* 1.4826 times the median distance from the median: what the standard deviation is of normal values, whatever a few
 * outliers are. `scratch` has room for n. */
double report_sigma(const double *v, size_t n, double median, double *scratch);

/* Pearson's correlation; 0 where one of both does not change. */
double report_correlation(const double *a, const double *b, size_t n);

/*
 * The largest correlation of `cause`, moved by -reach ... reach places, with `effect`. *lag: by how many places the
 * effect comes later. Of equal ones the smaller lag.
 */
double report_lagged_correlation(const double *cause, const double *effect, size_t n, size_t reach,
                                 long *lag);

#endif
