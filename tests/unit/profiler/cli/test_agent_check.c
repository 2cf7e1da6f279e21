/* Tests of agent_check.h: which folders a configuration may name, as the agent itself would find them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/cli/agent_check.h"
#include "profiler/cli/agent_reports.h"
#include "profiler/config/config.h"

static char folder[64];
static const char *read_only = ""; /* a path below which nothing can be written */

int access(const char *path, int mode)
{
	if ((mode & W_OK) && *read_only && !strncmp(path, read_only, strlen(read_only))) {
		errno = EROFS;
		return -1;
	}
	return faccessat(AT_FDCWD, path, mode, 0);
}

static int make_folder(void **state)
{
	(void)state;
	read_only = "";
	snprintf(folder, sizeof(folder), "/tmp/stallprof-check-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static void no_line(const char *line)
{
	fail_msg("%s", line);
}

/* Names in `folder`, or absolute ones; "": not set. */
static struct config *config_of(const char *directory, const char *reports)
{
	const char *const values[] = { directory, reports };
	static const char *const names[] = { "output.directory", "output.reports" };
	struct config *config = config_default();
	char path[256], err[1024] = "";

	assert_non_null(config);
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s%s%s", *values[i] && *values[i] != '/' ? folder : "",
		         *values[i] && *values[i] != '/' ? "/" : "", values[i]);
		if (config_set(config, names[i], path, err, sizeof(err)))
			fail_msg("%s", err);
	}
	return config;
}

/* What is said, "": nothing. */
static const char *check(const char *directory, const char *reports)
{
	struct config *config = config_of(directory, reports);
	static char err[1024];

	if (!agent_check_host("x.yaml", config, no_line, err, sizeof(err)))
		err[0] = '\0';
	config_free(config);
	return err;
}

static void assert_refused(const char *directory, const char *reports, const char *words)
{
	const char *said = check(directory, reports);

	if (!strstr(said, words))
		fail_msg("\"%s\", \"%s\": \"%s\" instead of \"%s\"", directory, reports, said, words);
}

static void test_agent_check__folders_that_can_be_made(void **state)
{
	(void)state;
	assert_string_equal(check("new", ""), "");
	assert_string_equal(check("new/", ""), "");
	assert_string_equal(check("new//", "new/reports/"), "");
	assert_string_equal(check("new", "new"), "");
	assert_string_equal(check("/stallprof-is-not-there", ""), "");
	assert_string_equal(check("/stallprof-is-not-there/", "other"), "");
	assert_string_equal(check("/", "/"), "");
}

static void test_agent_check__folders_that_cannot_be_made(void **state)
{
	char file[128];
	FILE *made;

	(void)state;
	snprintf(file, sizeof(file), "%s/file", folder);
	made = fopen(file, "we");
	assert_non_null(made);
	fclose(made);
	assert_refused("no/such", "", "x.yaml: output.directory: ");
	assert_refused("no/such", "", "/no/such: No such file or directory");
	assert_refused("file", "", "/file: Not a directory");
	assert_refused("file/in", "", "/file/in: Not a directory");
	assert_refused("", "no/such", "x.yaml: output.reports: ");
	assert_refused("new", "new/no/such", "/new/no/such: No such file or directory");
	assert_refused("", "file", "/file: Not a directory");
}

static void test_agent_check__folders_that_cannot_be_written_to(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/there", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_string_equal(check("there", "there"), "");
	read_only = folder;
	assert_refused("there", "", "/there: Read-only file system");
	assert_refused("new", "", "/new: Read-only file system");
	assert_refused("", "there", "output.reports: ");
}

/* What --check-config refuses the agent does not start with. */
static void test_agent_check__the_agent_refuses_the_same_reports(void **state)
{
	static const char *const names[] = { "no/such", "there", "/etc/passwd" };
	char path[128], err[1024];

	(void)state;
	snprintf(path, sizeof(path), "%s/there", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	read_only = folder;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct config *config = config_of("", names[i]);
		struct agent_reports *reports;

		assert_refused("", names[i], "output.reports: ");
		err[0] = '\0';
		if (!agent_reports_new(&reports, config, err, sizeof(err)))
			fail_msg("the agent takes %s", names[i]);
		assert_true(err[0]);
		config_free(config);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_agent_check__##name, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(folders_that_can_be_made),
		TEST(folders_that_cannot_be_made),
		TEST(folders_that_cannot_be_written_to),
		TEST(the_agent_refuses_the_same_reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
