/* Tests of report_waits.h: at which line a loop waits, where the stacks of some waits were not copied. */

#include "tests/unit/profiler/top/code_recording.h"

#include <string.h>

#include "profiler/format/frame_names.h"
#include "profiler/report/report_loop.h"
#include "profiler/report/report_waits.h"

/* The loop's wait, when so much of it has no stack beside 150 ms at train.py:80. */
static struct report_wait wait_beside(struct recording *r, int64_t ns)
{
	int64_t id = frame(r->profile, LIBC, FRAME_NOT_COPIED, NULL, 0);
	struct loaded_classes classes;
	struct report_loop loop;
	struct report_wait wait;

	sample(r->profile, &id, 1, ns, "data_load", "poll", "");
	assert_int_equal(loaded_classes_build(&classes, &r->input, &all, LOADED_LEVEL_CLASS), 0);
	assert_int_equal(
	        report_loop_find(&loop, &r->input, &classes, loaded_classes_find(&classes, "data_load")), 0);
	assert_int_equal(report_waits_find(&wait, &r->input, r->tags, &classes, &loop), 0);
	report_loop_free(&loop);
	assert_non_null(wait.class);
	assert_string_equal(wait.class, "data_load");
	wait.class = NULL; /* the classes' */
	loaded_classes_free(&classes);
	return wait;
}

static void test_report_waits__a_line_with_a_stack_says_more(void **state)
{
	struct report_wait wait = wait_beside(*state, 600 * MS);

	assert_non_null(strstr(wait.line, "train.py:80"));
	assert_int_equal(wait.line_ns, 150 * MS);
	assert_false(wait.gil);
}

static void test_report_waits__but_not_for_nearly_all(void **state)
{
	struct report_wait wait = wait_beside(*state, 1500 * MS);

	assert_string_equal(wait.line, FRAME_NOT_COPIED);
	assert_int_equal(wait.line_ns, 1500 * MS);
}

/* A third class that waits longer than the steps do. */
static void find_beside_save(struct recording *r, uint64_t covered_ns, const char *class, double share)
{
	struct loaded_classes classes;
	struct report_loop loop;
	struct report_wait wait;

	add(r->input.ledger, "save", false, LEDGER_BLOCKED, "lock", 300 * MS);
	assert_int_equal(stamp_add_window(r->input.stamp, 1000, 1000 + covered_ns), 0);
	assert_int_equal(loaded_classes_build(&classes, &r->input, &all, LOADED_LEVEL_CLASS), 0);
	assert_int_equal(
	        report_loop_find(&loop, &r->input, &classes, loaded_classes_find(&classes, "data_load")), 0);
	assert_int_equal(report_waits_find(&wait, &r->input, r->tags, &classes, &loop), 0);
	report_loop_free(&loop);
	assert_string_equal(wait.class, class);
	assert_float_equal(wait.share, share, 1e-9);
	loaded_classes_free(&classes);
}

static void test_report_waits__what_a_thread_does_in_turn_is_of_the_loop(void **state)
{
	find_beside_save(*state, 1000 * MS, "save", 300.0 / (200 + 40 + 300));
}

static void test_report_waits__what_other_threads_do_is_not(void **state)
{
	find_beside_save(*state, 400 * MS, "data_load", 150.0 / 200);
}

/* Of a crafted profile: the time of both classes together has no room in its type. */
static void test_report_waits__time_beyond_its_type(void **state)
{
	char *names[] = { (char *)"data_load", (char *)"save" };
	const struct report_loop loop = { .names = names, .n = 2 };
	struct recording *r = *state;
	struct loaded_classes classes;
	struct report_wait wait;

	add(r->input.ledger, "save", false, LEDGER_BLOCKED, "lock", INT64_MAX);
	assert_int_equal(loaded_classes_build(&classes, &r->input, &all, LOADED_LEVEL_CLASS), 0);
	assert_int_equal(report_waits_find(&wait, &r->input, r->tags, &classes, &loop), 0);
	assert_non_null(wait.class);
	assert_string_equal(wait.class, "save");
	assert_float_equal(wait.share, 1, 1e-9);
	loaded_classes_free(&classes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_report_waits__a_line_with_a_stack_says_more, record,
		                                forget),
		cmocka_unit_test_setup_teardown(test_report_waits__but_not_for_nearly_all, record, forget),
		cmocka_unit_test_setup_teardown(test_report_waits__what_a_thread_does_in_turn_is_of_the_loop,
		                                record, forget),
		cmocka_unit_test_setup_teardown(test_report_waits__what_other_threads_do_is_not, record,
		                                forget),
		cmocka_unit_test_setup_teardown(test_report_waits__time_beyond_its_type, record, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
