/* Tests of agent_reports.h: which files are the agent's own, so that it may remove them, and which of them it removes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/cli/agent_reports.h"
#include "tests/unit/own_folder.h"

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

/* --- which are removed -------------------------------------------------------------------------------------- */

static int make_dir(void **state)
{
	(void)state;
	return own_folder_make("reports");
}

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void make_file(const char *name)
{
	FILE *file = fopen(path_of(name), "we");

	assert_non_null(file);
	fprintf(file, "%100s", "");
	assert_int_equal(fclose(file), 0);
}

static bool lies_there(const char *name)
{
	return !access(path_of(name), F_OK);
}

/* report-1700000000001 is the one just written, after the clock was set back. */
static void test_agent_reports__trim_leaves_what_was_just_written(void **state)
{
	static const char *const by_age[] = { "report-99000000000000.md", "report-99000000000001.md",
		                              "report-1700000000000.txt", "report-1700000000002.md" };
	const char *written = "report-1700000000001.md";

	(void)state;
	make_file(written);
	for (size_t i = 0; i < 4; i++)
		make_file(by_age[i]);
	agent_reports_trim(dir, 0, path_of(written));
	assert_true(lies_there(by_age[0]));
	for (size_t i = 0; i < 4; i++) {
		agent_reports_trim(dir, 100 * (4 - i), path_of(written));
		assert_false(lies_there(by_age[i]));
		assert_true(i == 3 || lies_there(by_age[i + 1]));
	}
	agent_reports_trim(dir, 1, path_of(written));
	assert_true(lies_there(written));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agent_reports__its_own_files),
		cmocka_unit_test(test_agent_reports__files_of_others),
		cmocka_unit_test_setup_teardown(test_agent_reports__trim_leaves_what_was_just_written,
		                                make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
