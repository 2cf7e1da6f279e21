/* Tests of report_spikes.h: the quietest stretch, and what stands out of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "profiler/report/report_spikes.h"

#define N          100 /* of 100 ms: ten seconds */
#define STEP_NS    100000000ULL
#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static double values[N];
static const struct report_series series = { .begin_ns = 0, .step_ns = STEP_NS, .n = N, .v = values };

/* Half a thread lost, a little more and less in turn. */
static void usual(void)
{
	for (size_t i = 0; i < N; i++)
		values[i] = 0.5 + (i % 2 ? 0.03 : -0.03);
}

static void raise(size_t from, size_t to, double by)
{
	for (size_t i = from; i < to; i++)
		values[i] += by;
}

static size_t find(struct report_spike spikes[4])
{
	struct report_baseline baseline;
	struct report_spike *found;
	size_t count;

	assert_int_equal(report_baseline_find(&baseline, &series, &series, NULL), 0);
	assert_int_equal(
	        report_spikes_find(&found, &count, &series, &baseline, (double)(series.n * series.step_ns)),
	        0);
	for (size_t i = 0; i < count && i < 4; i++)
		spikes[i] = found[i];
	free(found);
	return count;
}

static void test_report_spikes__baseline(void **state)
{
	struct report_baseline baseline;

	(void)state;
	usual();
	raise(0, 50, 1);
	raise(90, 100, 2);
	assert_int_equal(report_baseline_find(&baseline, &series, &series, NULL), 0);
	assert_true(baseline.from >= 50 && baseline.to <= 90 && baseline.to - baseline.from == N / 3);
	assert_true(fabs(baseline.median - 0.5) < 0.031);
	assert_true(baseline.sigma >= 0.02 && baseline.sigma <= 0.1);
	assert_false(baseline.given);
	NEAR(report_sigma_floor(0.001, 2, 0.02), 0.1);
	NEAR(report_sigma_floor(0.001, 0, 0.02), 0.02);
	NEAR(report_sigma_floor(5, 2, 0.02), 5);
}

static void test_report_spikes__found(void **state)
{
	struct report_spike spikes[4];

	(void)state;
	usual();
	raise(60, 80, 1);
	raise(20, 25, 0.8);
	assert_int_equal(find(spikes), 2);
	assert_int_equal(spikes[0].from, 20);
	assert_int_equal(spikes[0].to, 25);
	assert_int_equal(spikes[1].from, 60);
	assert_int_equal(spikes[1].to, 80);
	assert_true(fabs(spikes[1].mean - 1.5) < 1e-6);
	assert_true(fabs(spikes[1].excess - 2e9) < 0.1e9);
	assert_true(spikes[1].z > 9);
}

static void test_report_spikes__gaps_belong_to_it(void **state)
{
	struct report_spike spikes[4];

	(void)state;
	usual();
	raise(40, 50, 1);
	raise(53, 60, 1);
	assert_int_equal(find(spikes), 1);
	assert_int_equal(spikes[0].from, 40);
	assert_int_equal(spikes[0].to, 60);
	usual();
	raise(40, 50, 1);
	raise(58, 64, 1);
	assert_int_equal(find(spikes), 2);
}

/* Noise, what is too short, too small, or too little in all. */
static void test_report_spikes__nothing(void **state)
{
	struct report_spike spikes[4];

	(void)state;
	usual();
	assert_int_equal(find(spikes), 0);
	raise(70, 71, 5);
	assert_int_equal(find(spikes), 0);
	usual();
	raise(60, 80, 0.05);
	assert_int_equal(find(spikes), 0);
	usual();
	raise(60, 62, 0.4);
	assert_int_equal(find(spikes), 0);
	raise(60, 62, 0.4);
	assert_int_equal(find(spikes), 1);
}

/* A minute of eight hours stands out, though it is less than a hundredth of them. */
static void test_report_spikes__a_minute_of_a_night(void **state)
{
	static double night[8 * 3600];
	const struct report_series long_run = { .step_ns = 1000000000, .n = 8 * 3600, .v = night };
	struct report_baseline baseline;
	struct report_spike *found;
	size_t count;

	(void)state;
	for (size_t i = 0; i < long_run.n; i++)
		night[i] = (i % 2 ? 0.53 : 0.47) + (i >= 20000 && i < 20060 ? 0.4 : 0);
	assert_int_equal(report_baseline_find(&baseline, &long_run, &long_run, NULL), 0);
	assert_int_equal(report_spikes_find(&found, &count, &long_run, &baseline,
	                                    (double)(long_run.n * long_run.step_ns)),
	                 0);
	assert_int_equal(count, 1);
	assert_int_equal(found[0].from, 20000);
	free(found);
	for (size_t i = 20020; i < 20060; i++)
		night[i] -= 0.4; /* 8 s of a thread are left */
	assert_int_equal(report_spikes_find(&found, &count, &long_run, &baseline,
	                                    (double)(long_run.n * long_run.step_ns)),
	                 0);
	assert_int_equal(count, 0);
	free(found);
}

/* Nor is the hundredth one of what was not recorded. */
static void test_report_spikes__of_what_is_covered(void **state)
{
	static double pause[600];
	const struct report_series paused = { .step_ns = 1000000000, .n = 600, .v = pause };
	struct report_baseline baseline = { .from = 0, .to = 20, .median = 0.1, .sigma = 0.02 };
	struct report_spike *found;
	size_t count;

	(void)state;
	for (size_t i = 0; i < 30; i++)
		pause[i] = i >= 20 && i < 24 ? 0.5 : 0.1;
	for (int covered = 0; covered < 2; covered++) {
		assert_int_equal(
		        report_spikes_find(&found, &count, &paused, &baseline, covered ? 30e9 : 600e9), 0);
		assert_int_equal(count, covered);
		free(found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_spikes__baseline),
		cmocka_unit_test(test_report_spikes__found),
		cmocka_unit_test(test_report_spikes__gaps_belong_to_it),
		cmocka_unit_test(test_report_spikes__nothing),
		cmocka_unit_test(test_report_spikes__a_minute_of_a_night),
		cmocka_unit_test(test_report_spikes__of_what_is_covered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
