/* Tests of report_series.h: known answers of the statistics, and lanes of any width as series. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "profiler/format/timeline.h"
#include "profiler/report/report_axis.h"
#include "profiler/report/report_series.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

/* As numpy.median() and scipy.stats.median_abs_deviation(scale="normal") have them. */
static void test_report_series__median_and_sigma(void **state)
{
	const double odd[] = { 3, 1, 2, 9, 4 }, even[] = { 4, 1, 3, 2 };
	double scratch[5];

	(void)state;
	NEAR(report_median(odd, 5, scratch), 3);
	NEAR(report_median(even, 4, scratch), 2.5);
	NEAR(report_median(odd, 0, scratch), 0);
	NEAR(report_sigma(odd, 5, 3, scratch), 1.4826);
	NEAR(report_sigma(even, 4, 2.5, scratch), 1.4826);
	NEAR(report_mean(odd, 5), 3.8);
	/* An outlier does not count. */
	NEAR(report_sigma((const double[]){ 1, 1, 1, 1, 1000 }, 5, 1, scratch), 0);
}

/* As numpy.corrcoef() has it. */
static void test_report_series__correlation(void **state)
{
	const double a[] = { 1, 2, 3, 4, 5 }, b[] = { 2, 1, 4, 3, 5 }, down[] = { 5, 4, 3, 2, 1 };
	const double flat[] = { 0.1, 0.1, 0.1, 0.1, 0.1 };
	const double rare[] = { 1e-10, 2e-10, 3e-10, 4e-10, 5e-10 }, none[5] = { 0 };

	(void)state;
	NEAR(report_correlation(a, b, 5), 0.8);
	NEAR(report_correlation(a, down, 5), -1);
	NEAR(report_correlation(a, flat, 5), 0);
	NEAR(report_correlation(a, a, 0), 0);
	/* Once a second is 1e-9 a nanosecond. */
	NEAR(report_correlation(rare, b, 5), 0.8);
	NEAR(report_correlation(rare, none, 5), 0);
}

static void test_report_series__lag(void **state)
{
	double cause[100] = { 0 }, effect[100] = { 0 };
	long lag;

	(void)state;
	for (size_t i = 40; i < 60; i++) {
		cause[i] = (double)(i % 7);
		effect[i + 8] = cause[i];
	}
	NEAR(report_lagged_correlation(cause, effect, 100, 20, &lag), 1);
	assert_int_equal(lag, 8);
	NEAR(report_lagged_correlation(effect, cause, 100, 20, &lag), 1);
	assert_int_equal(lag, -8);
	/* Beyond the reach it is not found. */
	assert_true(report_lagged_correlation(cause, effect, 100, 5, &lag) < 0.8);
	NEAR(report_lagged_correlation(cause, cause, 100, 20, &lag), 1);
	assert_int_equal(lag, 0);
	NEAR(report_lagged_correlation(cause, effect, 1, 20, &lag), 0);
}

static void test_report_series__lanes(void **state)
{
	struct timeline_lane narrow = { .kind = TIMELINE_STALL, .name = "block_io", .bucket_ns = 10 };
	struct timeline_lane wide = { .kind = TIMELINE_RUNQUEUE, .bucket_ns = 100 };
	struct timeline *timeline = timeline_new(0);
	const struct report_axis uncut = { .n = 0 };
	struct report_series series, hundreds;

	(void)state;
	assert_int_equal(timeline_add(timeline, &narrow, 1010, 1030, 20), 0);
	assert_int_equal(timeline_add(timeline, &wide, 1100, 1200, 50), 0);
	assert_int_equal(timeline_add(timeline, &narrow, 5000, 5010, 10), 0); /* outside */
	assert_int_equal(report_series_new(&series, 1000, 1200, 20), 0);
	assert_int_equal(series.n, 10);
	report_series_add(&series, &uncut, timeline, 0);
	report_series_add(&series, &uncut, timeline, 1);
	NEAR(series.v[0], 0.5);
	NEAR(series.v[1], 0.5);
	NEAR(series.v[2], 0);
	NEAR(series.v[5], 0.5);
	NEAR(series.v[9], 0.5);
	assert_int_equal(report_series_new(&hundreds, 1000, 1200, 100), 0);
	report_series_add(&hundreds, &uncut, timeline, 0);
	NEAR(hundreds.v[0], 0.2);
	assert_int_equal(report_series_smooth(&series, 1), 0);
	NEAR(series.v[0], 0.5);
	NEAR(series.v[1], 1.0 / 3);
	NEAR(series.v[9], 0.5);
	report_series_free(&hundreds);
	assert_int_equal(report_series_new(&hundreds, 7, 7, 1), -EINVAL);
	report_series_free(&series);
	timeline_free(timeline);
}

/* Too long a time for so narrow steps. */
static void test_report_series__bounded(void **state)
{
	struct report_series series;

	(void)state;
	assert_int_equal(report_series_new(&series, 0, UINT64_MAX / 2, 1), 0);
	assert_true(series.n <= REPORT_SERIES_MAX);
	report_series_free(&series);
	/* A series of the same bounds has the same steps, also where its own are aligned. */
	for (uint64_t more = 0; more < 3; more++) {
		struct report_series same;

		assert_int_equal(report_series_new(&series, 5, 5 + REPORT_SERIES_MAX * 10 - more * 5, 10), 0);
		assert_int_equal(report_series_new(&same, series.begin_ns,
		                                   series.begin_ns + series.n * series.step_ns,
		                                   series.step_ns),
		                 0);
		assert_int_equal(same.n, series.n);
		assert_int_equal(same.step_ns, series.step_ns);
		report_series_free(&same);
		report_series_free(&series);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_series__median_and_sigma),
		cmocka_unit_test(test_report_series__correlation),
		cmocka_unit_test(test_report_series__lag),
		cmocka_unit_test(test_report_series__lanes),
		cmocka_unit_test(test_report_series__bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
