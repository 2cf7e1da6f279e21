/* Tests of task_walk.h: the count of tagged threads, and how walks correct it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/tracer/task_walk.h"

static void test_tagged_correction__drift_is_taken_off(void **state)
{
	int64_t drift = 0;

	(void)state;
	assert_int_equal(tagged_correction(&drift, 5, 3, 5), 0);
	assert_int_equal(tagged_correction(&drift, 5, 3, 5), -2);
	assert_int_equal(tagged_correction(&drift, 3, 3, 3), 0);
}

/* A thread that pushes and pops all the while is seen now with its tag, now without. */
static void test_tagged_correction__what_changes_is_no_drift(void **state)
{
	int64_t drift = 0;

	(void)state;
	assert_int_equal(tagged_correction(&drift, 1, 0, 1), 0);
	assert_int_equal(tagged_correction(&drift, 0, 1, 0), 0);
	assert_int_equal(tagged_correction(&drift, 1, 1, 0), 0);
	assert_int_equal(tagged_correction(&drift, 1, 0, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tagged_correction__drift_is_taken_off),
		cmocka_unit_test(test_tagged_correction__what_changes_is_no_drift),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
