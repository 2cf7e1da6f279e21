/* Tests of report_axis.h: cuts in any order, and both ways through them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/format/timeline.h"
#include "profiler/report/report_axis.h"
#include "profiler/report/report_series.h"

static void test_report_axis__cuts(void **state)
{
	static const struct {
		uint64_t unix_ns, at_ns;
	} moments[] = { { 0, 0 },     { 99, 99 },   { 100, 100 }, { 150, 100 }, { 200, 100 },
		        { 201, 101 }, { 299, 199 }, { 340, 200 }, { 400, 200 }, { 1000, 800 } };
	struct report_axis axis = { .n = 0 };

	(void)state;
	assert_int_equal(report_axis_at(&axis, 7), 7);
	assert_int_equal(report_axis_unix(&axis, 7), 7);
	assert_int_equal(report_axis_cut(&axis, 320, 350), 0);
	assert_int_equal(report_axis_cut(&axis, 100, 200), 0);
	assert_int_equal(report_axis_cut(&axis, 380, 400), 0);
	assert_int_equal(axis.n, 3);
	/* Around one, up to another, and next to it. */
	assert_int_equal(report_axis_cut(&axis, 310, 380), 0);
	assert_int_equal(report_axis_cut(&axis, 300, 310), 0);
	assert_int_equal(report_axis_cut(&axis, 330, 340), 0);
	assert_int_equal(axis.n, 2);
	for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++)
		assert_int_equal(report_axis_at(&axis, moments[i].unix_ns), moments[i].at_ns);
	assert_int_equal(report_axis_unix(&axis, 99), 99);
	assert_int_equal(report_axis_unix(&axis, 100), 200);
	assert_int_equal(report_axis_unix(&axis, 199), 299);
	assert_int_equal(report_axis_unix(&axis, 200), 400);
	assert_int_equal(report_axis_unix(&axis, 800), 1000);
	report_axis_free(&axis);
}

/* What lies in a cut is in no series, nor is the part of a bucket that does. */
static void test_report_axis__a_series(void **state)
{
	const struct timeline_lane lane = { .kind = TIMELINE_ONCPU, .bucket_ns = 100 };
	struct timeline *timeline = timeline_new(0);
	struct report_axis axis = { .n = 0 };
	struct report_series series;

	(void)state;
	for (uint64_t at = 0; at < 1000; at += 100)
		assert_int_equal(timeline_add(timeline, &lane, at, at + 100, (int64_t)at), 0);
	assert_int_equal(report_axis_cut(&axis, 150, 850), 0);
	assert_int_equal(report_series_new(&series, 0, report_axis_at(&axis, 1000), 50), 0);
	report_series_add(&series, &axis, timeline, 0);
	assert_int_equal(series.n, 6);
	assert_float_equal(series.v[1], 0, 1e-9);
	assert_float_equal(series.v[2], 1, 1e-9);
	assert_float_equal(series.v[3], 8, 1e-9);
	assert_float_equal(series.v[4], 9, 1e-9);
	report_series_free(&series);
	report_axis_free(&axis);
	timeline_free(timeline);
}

/* Of a long stretch without points both edges stay. */
static void test_report_axis__gaps(void **state)
{
	const struct timeline_lane lane = { .kind = TIMELINE_ONCPU, .bucket_ns = 10 };
	const struct timeline_lane wide = { .kind = TIMELINE_STEPS, .bucket_ns = 100 };
	struct timeline *timeline = timeline_new(0);
	struct report_axis axis = { .n = 0 };

	(void)state;
	assert_int_equal(report_axis_cut_gaps(&axis, timeline, 50, 7), 0);
	assert_int_equal(timeline_add(timeline, &lane, 10000, 10010, 1), 0);
	assert_int_equal(timeline_add(timeline, &wide, 1000, 1100, 1), 0);
	assert_int_equal(timeline_add(timeline, &lane, 1000, 1010, 1), 0);
	assert_int_equal(timeline_add(timeline, &lane, 1200, 1210, 1), 0); /* that is no long one */
	assert_int_equal(report_axis_cut_gaps(&axis, timeline, 50, 7), 0);
	assert_int_equal(axis.n, 1);
	assert_int_equal(axis.cuts[0].from_ns, 1260);
	assert_int_equal(axis.cuts[0].to_ns, 9947); /* 1241 times 7 */
	report_axis_free(&axis);
	timeline_free(timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_axis__cuts),
		cmocka_unit_test(test_report_axis__a_series),
		cmocka_unit_test(test_report_axis__gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
