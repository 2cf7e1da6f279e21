/* Tests of top_parallel.h: whether the timeline shows several threads under a process's tags at once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "profiler/format/timeline.h"
#include "profiler/top/top_parallel.h"

#define SECOND 1000000000LL
#define T0     (1700000000ULL * 1000000000ULL)

static bool has_class(const void *process, const char *class)
{
	(void)process;
	return !strcmp(class, "train_step");
}

/* What each second has, in tenths of a second; kinds of time follow one another. */
static bool parallel(enum timeline_kind kind, const int *tenths, size_t n)
{
	const struct timeline_lane lane = { .kind = kind,
		                            .class = "train_step",
		                            .bucket_ns = (uint64_t)SECOND };
	struct timeline *timeline = timeline_new(0);
	struct top_parallel time = { .has_class = has_class,
		                     .ns = (int64_t)n * SECOND / 2,
		                     .n_processes = 1 };
	const struct timeline_lane edge = { .kind = TIMELINE_ONCPU,
		                            .class = "train_step",
		                            .bucket_ns = (uint64_t)SECOND };
	bool result;

	for (size_t i = 0; i < n; i++)
		assert_int_equal(timeline_add(timeline, &lane, T0 + i * (uint64_t)SECOND,
		                              T0 + (i + 1) * (uint64_t)SECOND, tenths[i] * SECOND / 10),
		                 0);
	assert_int_equal(timeline_add(timeline, &edge, T0, T0 + (uint64_t)SECOND, 1), 0);
	assert_int_equal(
	        timeline_add(timeline, &edge, T0 + (n - 1) * (uint64_t)SECOND, T0 + n * (uint64_t)SECOND, 1),
	        0);
	result = top_parallel(timeline, &time);
	timeline_free(timeline);
	return result;
}

static void test_top_parallel__one_thread(void **state)
{
	const int even[] = { 10, 10, 10, 10, 10, 10 };
	/* On a busy host a second's run queue is told in the next. */
	const int late[] = { 10, 4, 16, 10, 3, 16 };

	(void)state;
	assert_false(parallel(TIMELINE_ONCPU, even, 6));
	assert_false(parallel(TIMELINE_RUNQUEUE, late, 6));
}

static void test_top_parallel__two_at_once(void **state)
{
	const int two[] = { 0, 10, 10, 20, 20, 20, 10 };
	const int after_a_pause[] = { 10, 0, 0, 0, 20, 20, 20 };

	(void)state;
	assert_true(parallel(TIMELINE_ONCPU, two, 7));
	assert_true(parallel(TIMELINE_ONCPU, after_a_pause, 7));
}

/* What is no time of a thread's, or a part of other time. */
static void test_top_parallel__other_kinds(void **state)
{
	const int many[] = { 50, 50, 50, 50, 50, 50 };

	(void)state;
	assert_false(parallel(TIMELINE_STEPS, many, 6));
	assert_false(parallel(TIMELINE_SIGNAL, many, 6));
	assert_false(parallel(TIMELINE_SPIN, many, 6));
	assert_true(parallel(TIMELINE_BLOCKED, many, 6));
}

/* A profile may say any times. */
static void test_top_parallel__at_the_end_of_time(void **state)
{
	const struct timeline_lane lane = { .kind = TIMELINE_ONCPU,
		                            .class = "train_step",
		                            .bucket_ns = (uint64_t)SECOND };
	const uint64_t last = UINT64_MAX / (uint64_t)SECOND * (uint64_t)SECOND;
	struct timeline *timeline = timeline_new(0);
	struct top_parallel time = {
		.has_class = has_class, .ns = 1, .n_processes = 2, .begin_ns = 1, .next_ns = last
	};

	(void)state;
	for (uint64_t at = last - 3 * (uint64_t)SECOND; at < last; at += (uint64_t)SECOND)
		assert_int_equal(timeline_add(timeline, &lane, at, at + (uint64_t)SECOND, 5), 0);
	assert_false(top_parallel(timeline, &time));
	timeline_free(timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_parallel__one_thread),
		cmocka_unit_test(test_top_parallel__two_at_once),
		cmocka_unit_test(test_top_parallel__other_kinds),
		cmocka_unit_test(test_top_parallel__at_the_end_of_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
