/* Tests of report_waits.h: at which line a loop waits, where the stacks of some waits were not copied. */

#include "tests/unit/profiler/top/code_recording.h"

#include <string.h>

#include "profiler/format/frame_names.h"
#include "profiler/report/report_waits.h"

/* The loop's wait, when so much of it has no stack beside 150 ms at train.py:80. */
static struct report_wait wait_beside(struct recording *r, int64_t ns)
{
	int64_t id = frame(r->profile, LIBC, FRAME_NOT_COPIED, NULL, 0);
	struct loaded_classes classes;
	struct report_wait wait;

	sample(r->profile, &id, 1, ns, "data_load", "poll", "");
	assert_int_equal(loaded_classes_build(&classes, &r->input, &all, LOADED_LEVEL_CLASS), 0);
	assert_int_equal(report_waits_find(&wait, &r->input, r->tags, &classes,
	                                   loaded_classes_find(&classes, "data_load")),
	                 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_report_waits__a_line_with_a_stack_says_more, record,
		                                forget),
		cmocka_unit_test_setup_teardown(test_report_waits__but_not_for_nearly_all, record, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
