/* Makes series of a timeline's lanes; means, medians, correlations. */

#include "profiler/report/report_series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/timeline.h"
#include "profiler/report/report_axis.h"

int report_series_new(struct report_series *series, uint64_t begin_ns, uint64_t end_ns, uint64_t step_ns)
{
	*series = (struct report_series){ .begin_ns = begin_ns, .step_ns = step_ns };
	if (end_ns <= begin_ns || !step_ns)
		return -EINVAL;
	while ((end_ns - 1 - (begin_ns - begin_ns % series->step_ns)) / series->step_ns >= REPORT_SERIES_MAX)
		series->step_ns *= 2;
	series->begin_ns -= begin_ns % series->step_ns;
	series->n = (size_t)((end_ns - 1 - series->begin_ns) / series->step_ns + 1);
	series->v = calloc(series->n, sizeof(*series->v));
	return series->v ? 0 : -ENOMEM;
}

void report_series_free(struct report_series *series)
{
	free(series->v);
	*series = (struct report_series){ .n = 0 };
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Spreads a value over the part of [from, to) that the series has. */
static void add_span(struct report_series *series, uint64_t from, uint64_t to, double per_ns)
{
	uint64_t end = series->begin_ns + series->n * series->step_ns;

	from = larger(from, series->begin_ns);
	to = smaller(to, end);
	while (from < to) {
		size_t i = (size_t)((from - series->begin_ns) / series->step_ns);
		uint64_t next = smaller(to, series->begin_ns + (i + 1) * series->step_ns);

		series->v[i] += per_ns * (double)(next - from) / (double)series->step_ns;
		from = next;
	}
}

void report_series_add(struct report_series *series, const struct report_axis *axis,
                       const struct timeline *timeline, size_t lane)
{
	const struct timeline_lane *of = timeline_lane_at(timeline, lane);
	size_t count;
	const struct timeline_point *points = timeline_points(timeline, lane, &count);

	for (size_t i = 0; i < count; i++)
		add_span(series, report_axis_at(axis, points[i].begin_ns),
		         report_axis_at(axis, points[i].begin_ns + of->bucket_ns),
		         (double)points[i].value / (double)of->bucket_ns);
}

int report_series_smooth(struct report_series *series, size_t reach)
{
	double *sums = calloc(series->n + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < series->n; i++)
		sums[i + 1] = sums[i] + series->v[i];
	for (size_t i = 0; i < series->n; i++) {
		size_t from = i > reach ? i - reach : 0;
		size_t to = i + reach + 1 < series->n ? i + reach + 1 : series->n;

		series->v[i] = (sums[to] - sums[from]) / (double)(to - from);
	}
	free(sums);
	return 0;
}

/* --- of values ------------------------------------------------------------------------------------------- */

double report_mean(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return n ? sum / (double)n : 0;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Sorts. */
static double middle(double *v, size_t n)
{
	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), compare);
	return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

double report_median(const double *v, size_t n, double *scratch)
{
	memcpy(scratch, v, n * sizeof(*v));
	return middle(scratch, n);
}

double report_quantile(const double *v, size_t n, double part, double *scratch)
{
	if (!n)
		return 0;
	memcpy(scratch, v, n * sizeof(*v));
	qsort(scratch, n, sizeof(*scratch), compare);
	return scratch[(size_t)((double)(n - 1) * part)];
}

double report_sigma(const double *v, size_t n, double median, double *scratch)
{
	for (size_t i = 0; i < n; i++)
		scratch[i] = fabs(v[i] - median);
	return 1.4826 * middle(scratch, n);
}

double report_correlation(const double *a, const double *b, size_t n)
{
	double mean_a = report_mean(a, n), mean_b = report_mean(b, n), aa = 0, bb = 0, ab = 0;

	for (size_t i = 0; i < n; i++) {
		aa += (a[i] - mean_a) * (a[i] - mean_a);
		bb += (b[i] - mean_b) * (b[i] - mean_b);
		ab += (a[i] - mean_a) * (b[i] - mean_b);
	}
	/* A constant may have a rest of rounding. Values a nanosecond are small themselves: what is 0 is told by their mean. */
	if (aa <= 1e-18 * mean_a * mean_a * (double)n || bb <= 1e-18 * mean_b * mean_b * (double)n)
		return 0;
	return ab / sqrt(aa * bb);
}

double report_lagged_correlation(const double *cause, const double *effect, size_t n, size_t reach, long *lag)
{
	double best = -2;

	*lag = 0;
	for (size_t i = 0; i <= 2 * reach; i++) {
		/* 0, 1, -1, 2, -2 ... */
		long at = i % 2 ? (long)(i / 2 + 1) : -(long)(i / 2);
		size_t off = (size_t)labs(at);
		double r;

		if (off + 2 > n)
			break;
		r = at >= 0 ? report_correlation(cause, effect + off, n - off)
		            : report_correlation(cause + off, effect, n - off);
		if (r > best + 1e-12) {
			best = r;
			*lag = at;
		}
	}
	return best < -1 ? 0 : best;
}
