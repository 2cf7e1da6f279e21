/* Tests of window_refusals.h: when the next window is tried, and when the first is set aside. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/output/window_refusals.h"

#define SECOND UINT64_C(1000000000)

/* Refused so often, once each so many seconds. What the last one says. */
static enum window_verdict refuse(struct window_refusals *refusals, unsigned int n, uint64_t every_ns)
{
	enum window_verdict verdict = WINDOW_WAITS;

	for (unsigned int i = 0; i < n; i++)
		verdict = window_refusals_add(refusals, 100 * SECOND + i * every_ns, 0);
	return verdict;
}

static void test_window_refusals__the_next_is_tried_after_several_and_a_minute(void **state)
{
	struct window_refusals seldom = { 0 }, often = { 0 }, enough = { 0 };

	(void)state;
	assert_int_equal(refuse(&seldom, WINDOW_REFUSALS - 1, 60 * SECOND), WINDOW_WAITS);
	assert_int_equal(refuse(&often, 60, SECOND), WINDOW_WAITS);
	assert_int_equal(refuse(&often, 1, SECOND), WINDOW_WAITS);
	assert_int_equal(window_refusals_add(&often, 160 * SECOND, 0), WINDOW_TRY_NEXT);
	assert_int_equal(refuse(&enough, WINDOW_REFUSALS, 15 * SECOND), WINDOW_TRY_NEXT);
}

static void test_window_refusals__all_wait_while_the_next_is_not_taken(void **state)
{
	struct window_refusals refusals = { 0 };

	(void)state;
	for (unsigned int n = WINDOW_REFUSALS; n < 100; n++) {
		refusals = (struct window_refusals){ 0 };
		assert_int_equal(refuse(&refusals, n, 60 * SECOND), WINDOW_TRY_NEXT);
	}
}

static void test_window_refusals__it_is_set_aside_once_the_next_was_taken(void **state)
{
	struct window_refusals refusals = { 0 };

	(void)state;
	assert_int_equal(refuse(&refusals, WINDOW_REFUSALS, 20 * SECOND), WINDOW_TRY_NEXT);
	assert_int_equal(window_refusals_add(&refusals, 181 * SECOND, 1), WINDOW_SET_ASIDE);
}

/* What was taken before says nothing. */
static void test_window_refusals__only_what_was_taken_meanwhile_counts(void **state)
{
	struct window_refusals refusals = { 0 };

	(void)state;
	for (unsigned int i = 0; i < 10; i++)
		assert_int_not_equal(window_refusals_add(&refusals, (100 + 20 * i) * SECOND, 7),
		                     WINDOW_SET_ASIDE);
	assert_int_equal(window_refusals_add(&refusals, 300 * SECOND, 8), WINDOW_SET_ASIDE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window_refusals__the_next_is_tried_after_several_and_a_minute),
		cmocka_unit_test(test_window_refusals__all_wait_while_the_next_is_not_taken),
		cmocka_unit_test(test_window_refusals__it_is_set_aside_once_the_next_was_taken),
		cmocka_unit_test(test_window_refusals__only_what_was_taken_meanwhile_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
