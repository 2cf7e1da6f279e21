/* Tests of agent_reports.h: which files are the agent's own, so that it may remove them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/cli/agent_reports.h"

static void test_agent_reports__its_own_files(void **state)
{
	(void)state;
	assert_true(agent_reports_wrote("report-1700000000123.txt"));
	assert_true(agent_reports_wrote("report-1700000000123.md"));
	assert_true(agent_reports_wrote("report-1700000000123.json"));
	assert_true(agent_reports_wrote("report-1700000000123.html"));
	assert_true(agent_reports_wrote("report-1700000000123.html.tmp"));
}

static void test_agent_reports__files_of_others(void **state)
{
	static const char *const names[] = { "report-",
		                             "report-.txt",
		                             "report-to-my-boss.txt",
		                             "report-2026.pdf",
		                             "report-2026",
		                             "report-2026.txt.bak",
		                             "report-2026-11.txt",
		                             "report-1700000000123.txtual",
		                             "my-report-1700000000123.txt",
		                             "Report-1700000000123.txt",
		                             ".tmp",
		                             "" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (agent_reports_wrote(names[i]))
			fail_msg("%s is taken for the agent's own", names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agent_reports__its_own_files),
		cmocka_unit_test(test_agent_reports__files_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
