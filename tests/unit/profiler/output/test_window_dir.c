/* Tests of window_dir.h: names of files, and which are removed. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/output/window_dir.h"

static char dir[64];

static int enter_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/stallprof-folder-XXXXXX");
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int leave_dir(void **state)
{
	(void)state;
	return chdir("/") == 0 && nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0 ? 0 : -1;
}

static void make_file(const char *name, size_t bytes)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	for (size_t i = 0; i < bytes; i++)
		fputc('x', file);
	assert_int_equal(fclose(file), 0);
}

static int lies_there(const char *name)
{
	return access(name, F_OK) == 0;
}

static void test_window_dir__a_name_that_is_taken_is_left(void **state)
{
	char path[256];

	(void)state;
	assert_int_equal(window_dir_path(".", 1700000000123456789, path, sizeof(path)), 0);
	assert_string_equal(path, "./stallprof-1700000000123.pb.gz");
	make_file(path, 1);
	assert_int_equal(window_dir_path(".", 1700000000123456789, path, sizeof(path)), 0);
	assert_string_equal(path, "./stallprof-1700000000123-1.pb.gz");
	assert_int_equal(symlink("nowhere", path), 0);
	assert_int_equal(window_dir_path(".", 1700000000123456789, path, sizeof(path)), 0);
	assert_string_equal(path, "./stallprof-1700000000123-2.pb.gz");
	assert_int_equal(window_dir_path(".", 1700000000123456789, path, 20), -ENAMETOOLONG);
}

/* It is not that the name is taken. */
static void test_window_dir__a_folder_that_cannot_be_looked_into_is_told(void **state)
{
	char path[256];

	(void)state;
	make_file("file", 1);
	assert_int_equal(window_dir_path("file", 1700000000123456789, path, sizeof(path)), -ENOTDIR);
	assert_int_equal(window_dir_path("nowhere", 1700000000123456789, path, sizeof(path)), 0);
}

static void test_window_dir__trim_takes_the_oldest(void **state)
{
	(void)state;
	make_file("stallprof-999.pb.gz", 100); /* shorter, and the oldest */
	make_file("stallprof-1000.pb.gz", 100);
	make_file("stallprof-1000-2.pb.gz", 100);
	make_file("stallprof-1000-10.pb.gz", 100);
	make_file("stallprof-1001.pb.gz", 100);
	window_dir_trim(".", 0, "./stallprof-1001.pb.gz");
	assert_true(lies_there("stallprof-999.pb.gz"));
	window_dir_trim(".", 400, "./stallprof-1001.pb.gz");
	assert_false(lies_there("stallprof-999.pb.gz"));
	assert_true(lies_there("stallprof-1000.pb.gz"));
	window_dir_trim(".", 200, "./stallprof-1001.pb.gz");
	assert_false(lies_there("stallprof-1000-2.pb.gz"));
	assert_true(lies_there("stallprof-1000-10.pb.gz"));
	window_dir_trim(".", 1, "./stallprof-1001.pb.gz");
	assert_false(lies_there("stallprof-1000-10.pb.gz"));
	assert_true(lies_there("stallprof-1001.pb.gz"));
}

/* The clock was set back. */
static void test_window_dir__trim_leaves_what_was_just_written(void **state)
{
	(void)state;
	make_file("stallprof-1000.pb.gz", 100); /* the one just written */
	make_file("stallprof-999.pb.gz", 100);
	make_file("stallprof-1001.pb.gz", 100);
	make_file("stallprof-99000000000000.pb.gz", 100); /* of the year 5107 */
	make_file("stallprof-99000000000001.pb.gz", 100);
	window_dir_trim(".", 400, "./stallprof-1000.pb.gz");
	assert_false(lies_there("stallprof-99000000000000.pb.gz"));
	assert_true(lies_there("stallprof-99000000000001.pb.gz"));
	window_dir_trim(".", 300, "./stallprof-1000.pb.gz");
	assert_false(lies_there("stallprof-99000000000001.pb.gz"));
	assert_true(lies_there("stallprof-999.pb.gz"));
	window_dir_trim(".", 1, "./stallprof-1000.pb.gz");
	assert_false(lies_there("stallprof-999.pb.gz") || lies_there("stallprof-1001.pb.gz"));
	assert_true(lies_there("stallprof-1000.pb.gz"));
}

static const char *const of_others[] = { "stallprof-00backup.tar",    "stallprof-1.pb.gz.bak",
	                                 "stallprof-.pb.gz",          "stallprof-1.pb",
	                                 "stallprof--1.pb.gz",        "stallprof-1-.pb.gz",
	                                 "my-stallprof-1.pb.gz",      "stallprof- 1.pb.gz",
	                                 "stallprof-+1.pb.gz",        "stallprof-1.pb.gz.1.tmp",
	                                 "stallprof-1.pb.gz.0-1.tmp", "stallprof-x.pb.gz.1-1.tmp" };

static void test_window_dir__files_of_others_stay(void **state)
{
	size_t n = sizeof(of_others) / sizeof(of_others[0]);

	(void)state;
	for (size_t i = 0; i < n; i++)
		make_file(of_others[i], 1000);
	assert_int_equal(mkdir("stallprof-2.pb.gz", 0700), 0);
	make_file("stallprof-3.pb.gz", 1000);
	window_dir_trim(".", 1, "./stallprof-3.pb.gz");
	window_dir_clean(".");
	for (size_t i = 0; i < n; i++)
		if (!lies_there(of_others[i]))
			fail_msg("%s is gone", of_others[i]);
	assert_true(lies_there("stallprof-2.pb.gz"));
	assert_true(lies_there("stallprof-3.pb.gz"));
}

static void test_window_dir__half_written_files_of_the_dead_go(void **state)
{
	char dead[64], numbered[64], living[64];
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	snprintf(dead, sizeof(dead), "stallprof-1.pb.gz.%d-0.tmp", (int)pid);
	snprintf(numbered, sizeof(numbered), "stallprof-1-2.pb.gz.%d-0.tmp", (int)pid);
	snprintf(living, sizeof(living), "stallprof-1.pb.gz.%d-0.tmp", (int)getpid());
	make_file(dead, 1);
	make_file(numbered, 1);
	make_file(living, 1);
	window_dir_clean(".");
	assert_false(lies_there(dead));
	assert_false(lies_there(numbered));
	assert_true(lies_there(living));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_window_dir__a_name_that_is_taken_is_left, enter_dir,
		                                leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__a_folder_that_cannot_be_looked_into_is_told,
		                                enter_dir, leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__trim_takes_the_oldest, enter_dir, leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__trim_leaves_what_was_just_written, enter_dir,
		                                leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__files_of_others_stay, enter_dir, leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__half_written_files_of_the_dead_go, enter_dir,
		                                leave_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
