/* Tests of report_loop.h, by a view of a recording: which classes are a part of the loop. */

#include "profiler/report/report_view.h"
#include "tests/unit/profiler/report/narrative_fixture.h"

/* `uses` of the class in the process, which take as long all together. */
static void used(const char *class, uint32_t pid, uint64_t uses, int64_t ns)
{
	struct ledger_row row = { .tag = (char *)class,
		                  .class = (char *)class,
		                  .pid = pid,
		                  .state = LEDGER_ONCPU,
		                  .cause = (char *)"",
		                  .device = (char *)"",
		                  .ns = ns / (int64_t)uses };

	for (row.id = 1; row.id <= uses; row.id++)
		assert_int_equal(ledger_add(input.ledger, &row), 0);
}

/* Whatever the order in which their time, or their names, put them. */
static void test_report_loop__has_all_that_come_with_its_steps(void **state)
{
	static const char *const with_steps[] = { "train_step", "zebra", "data_load", "alpha", "middle" };
	struct report_view view;

	(void)state;
	for (size_t i = 0; i < sizeof(with_steps) / sizeof(with_steps[0]); i++)
		used(with_steps[i], 7, 100, (int64_t)(9 - i) * (int64_t)SECOND);
	used("backup", 8, 100, 5 * (int64_t)SECOND);
	assert_int_equal(report_view_open(&view, &input, "train_step"), 0);
	for (size_t i = 0; i < sizeof(with_steps) / sizeof(with_steps[0]); i++)
		assert_true(report_loop_has(&view.loop, with_steps[i]));
	assert_false(report_loop_has(&view.loop, "backup"));
	assert_int_equal(view.loop.n, sizeof(with_steps) / sizeof(with_steps[0]));
	report_view_close(&view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_report_loop__has_all_that_come_with_its_steps, begin,
		                                end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
