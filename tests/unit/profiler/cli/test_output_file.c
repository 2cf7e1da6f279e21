/* Tests of output_file.h: an older file stays until the new one is whole. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/cli/output_file.h"

#define OLD "an older report"

static char folder[] = "/tmp/stallprof-output-XXXXXX", path[sizeof(folder) + 8];

static void place_old(void)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(OLD, file);
	assert_int_equal(fclose(file), 0);
}

static void expect(const char *text)
{
	char found[4096] = "";
	FILE *file = fopen(path, "re");

	assert_non_null(file);
	assert_true(fread(found, 1, sizeof(found) - 1, file) > 0);
	fclose(file);
	assert_string_equal(found, text);
}

static int begin(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/r.md", folder);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder); /* nothing else is left in it */
}

static void test_output_file__is_replaced(void **state)
{
	struct output_file file;
	struct stat info;

	(void)state;
	place_old();
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(output_file_open(&file, path), 0);
	fputs("new", file.out);
	fflush(file.out);
	expect(OLD);
	assert_int_equal(output_file_close(&file, 0), 0);
	expect("new");
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0640);
}

static void test_output_file__the_older_one_stays(void **state)
{
	const struct rlimit little = { .rlim_cur = 16, .rlim_max = RLIM_INFINITY };
	struct output_file file;
	struct rlimit before;

	(void)state;
	place_old();
	assert_int_equal(output_file_open(&file, path), 0);
	fputs("a part", file.out);
	assert_int_equal(output_file_close(&file, -ENOMEM), -ENOMEM);
	expect(OLD);
	/* A disk that is full: the signal that the limit sends ends nobody. */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(output_file_open(&file, path), 0);
	fputs("more than there is room for", file.out);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	assert_int_equal(output_file_close(&file, 0), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	expect(OLD);
}

/* What is no file is written to as it is, and what cannot be is an error. */
static void test_output_file__no_file(void **state)
{
	struct output_file file;
	char nowhere[sizeof(path) + 8];

	(void)state;
	assert_int_equal(output_file_open(&file, "/dev/full"), 0);
	fputs("x", file.out);
	assert_int_equal(output_file_close(&file, 0), -ENOSPC);
	assert_int_equal(output_file_open(&file, folder), -EISDIR);
	snprintf(nowhere, sizeof(nowhere), "%s/no/r.md", folder);
	assert_int_equal(output_file_open(&file, nowhere), 0);
	fputs("x", file.out);
	assert_int_equal(output_file_close(&file, 0), -ENOENT);
	for (int dash = 0; dash < 2; dash++) {
		assert_int_equal(output_file_open(&file, dash ? "-" : NULL), 0);
		assert_ptr_equal(file.out, stdout);
		assert_int_equal(output_file_close(&file, 0), 0);
		assert_int_equal(output_file_close(&file, -EIO), -EIO);
	}
}

/* A file that is open, by its link, gets what is written, as others hold it. */
static void test_output_file__an_open_file(void **state)
{
	struct output_file file;
	char link[64];
	FILE *open_one;

	(void)state;
	place_old();
	open_one = fopen(path, "r+e");
	assert_non_null(open_one);
	snprintf(link, sizeof(link), "/dev/fd/%d", fileno(open_one));
	assert_int_equal(output_file_open(&file, link), 0);
	fputs("new", file.out);
	assert_int_equal(output_file_close(&file, 0), 0);
	assert_int_equal(fgetc(open_one), 'n');
	fclose(open_one);
	expect("new");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_file__is_replaced),
		cmocka_unit_test(test_output_file__the_older_one_stays),
		cmocka_unit_test(test_output_file__no_file),
		cmocka_unit_test(test_output_file__an_open_file),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
