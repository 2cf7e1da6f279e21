/* Tests of symbolizer.h where a library is unloaded, and another one mapped in its place. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>

#include <stdio.h>

#include "symbolizer/symbolizer.h"
#include "tests/unit/compile_program.h"

#define START 0x10000
#define END   0x20000

static struct symbolizer *s;
static struct sym_process *p;

static int make_process(void **state)
{
	if (program_dir_make(state))
		return -1;
	s = symbolizer_new(NULL);
	p = symbolizer_process(s, 4000000, 1);
	symbolizer_process_exit(p);
	return 0;
}

static int remove_process(void **state)
{
	symbolizer_free(s);
	return program_dir_remove(state);
}

static char path[256];

/* A library of one large function, written into the same file. */
static void write_library(const char *function)
{
	snprintf(path, sizeof(path), "%s/x.so", program_dir);
	assert_int_equal(
	        shell("echo 'int %s(int n) { __asm__(\".zero 8192, 0x90\"); return n + 1; }' > '%s/x.c'",
	              function, program_dir),
	        0);
	assert_true(compile_into("-shared -fPIC -nostdlib -Wl,-z,noseparate-code -o '%s/new.so' '%s/x.c'",
	                         program_dir, program_dir));
	assert_int_equal(shell("cat '%s/new.so' > '%s'", program_dir, path), 0);
}

static const char *function_at(uint64_t address)
{
	struct sym_result r;

	assert_int_equal(symbolizer_user(p, address, false, &r), 0);
	return r.frames[0].function;
}

/* The range, the path and the inode are the same. */
static void test_mapped_again__another_file_of_that_name(void **state)
{
	(void)state;
	write_library("first");
	symbolizer_process_map(p, START, END, 0, 0, 0, 0, path);
	assert_string_equal(function_at(START + 0x1000), "first");
	write_library("second_one");
	symbolizer_process_mapped(p, START, END, 0, 0, 0, 0, path);
	assert_string_equal(function_at(START + 0x1000), "second_one");
	assert_false(symbolizer_process_is_stale(p));
}

/* PROC/PID/maps may not be read at once: what the record says is known meanwhile. */
static void test_mapped_again__a_file_of_another_name(void **state)
{
	char first[PATH_MAX];

	(void)state;
	write_library("first");
	snprintf(first, sizeof(first), "%s/first.so", program_dir);
	assert_int_equal(rename(path, first), 0);
	write_library("second_one");
	symbolizer_process_map(p, START, END, 0, 0, 0, 0, first);
	assert_string_equal(function_at(START + 0x1000), "first");
	assert_int_equal(symbolizer_process_mapped(p, START, END - 0x1000, 0, 0, 0, 0, path), 0);
	assert_string_equal(function_at(START + 0x1000), "second_one");
	assert_true(symbolizer_process_is_stale(p));
}

static void test_mapped_again__another_range(void **state)
{
	(void)state;
	symbolizer_process_map(p, START, END, 0, 0, 0, 5, "/x.so");
	symbolizer_process_map(p, END, END + 0x1000, 0, 0, 0, 0, "");
	symbolizer_process_mapped(p, END, END + 0x800, 0, 0, 0, 0, "//anon"); /* a JIT compiler's */
	symbolizer_process_mapped(p, END + 0x1000, END + 0x2000, 0, 0, 0, 9, "/y.so");
	symbolizer_process_mapped(p, START, END, 0, 0, 0, 5, "/x.so");
	assert_false(symbolizer_process_is_stale(p));
	symbolizer_process_mapped(p, START, END - 0x1000, 0, 0, 0, 6, "/x.so");
	assert_true(symbolizer_process_is_stale(p));
	symbolizer_process_refresh(p);
	assert_false(symbolizer_process_is_stale(p));
	symbolizer_process_mapped(p, START, END, 0, 0, 0, 6, "/x.so");
	assert_true(symbolizer_process_is_stale(p));
	symbolizer_process_exec(p);
	assert_false(symbolizer_process_is_stale(p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_mapped_again__another_file_of_that_name, make_process,
		                                remove_process),
		cmocka_unit_test_setup_teardown(test_mapped_again__a_file_of_another_name, make_process,
		                                remove_process),
		cmocka_unit_test_setup_teardown(test_mapped_again__another_range, make_process,
		                                remove_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
