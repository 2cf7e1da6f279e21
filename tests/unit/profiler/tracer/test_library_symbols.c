/* Tests of library_calls.h and library_symbols.h: which file is which library, and where its functions begin. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <gnu/lib-names.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/tracer/library_calls.h"
#include "profiler/tracer/library_symbols.h"
#include "profiler/tracer/probe_table.h"

static uint32_t bit_of(const char *hook)
{
	for (size_t i = 0; i < library_calls_len; i++)
		if (!strcmp(library_calls[i].hook, hook))
			return 1u << i;
	return 0;
}

static void test_library_calls__names(void **state)
{
	static const struct {
		const char *path, *hook;
	} files[] = {
		{ "/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05", "libcuda.so" },
		{ "/usr/lib/libcuda.so.1 (deleted)", "libcuda.so" },
		{ "/venv/nvidia/libcudart-9335f6a2.so.12.4", "libcudart.so" },
		{ "/opt/rocm/lib/libamdhip64.so.6", "libamdhip64.so" },
		{ "/usr/lib/libmpi.so.40", "libmpi.so" },
		{ "/usr/lib/libmpi_cxx.so.40", "" },
		{ "/usr/lib/libtorch_cpu.so", "libtorch_cpu.so" },
		{ "/usr/lib/libcudadebugger.so.1", "" },
		{ "libcuda.so", "" },
		{ "", "" },
		{ "/data/checkpoint", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		assert_int_equal(library_calls_of(files[i].path), bit_of(files[i].hook));
}

/* Each has a row of its cause, which tells whether it was attached to. */
static void test_library_calls__rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < library_calls_len; i++) {
		size_t found = 0;

		for (size_t k = 0; k < probe_table_len; k++)
			found += probe_table[k].kind == PROBE_LIBRARY &&
			         !strcmp(probe_table[k].hook, library_calls[i].hook) &&
			         !strcmp(probe_table[k].cause, library_calls[i].cause);
		assert_int_equal(found, 1);
	}
}

static void test_library_calls__has(void **state)
{
	static const char *const functions[] = { "exact", "prefix*", NULL };
	const struct library_calls library = { .functions = functions };

	(void)state;
	assert_true(library_calls_has(&library, "exact"));
	assert_false(library_calls_has(&library, "exactly"));
	assert_true(library_calls_has(&library, "prefix"));
	assert_true(library_calls_has(&library, "prefixed"));
	assert_false(library_calls_has(&library, "pref"));
}

static size_t sites_in(const char *path, const char *const *functions, int expected)
{
	const struct library_calls library = { .functions = functions };
	struct usdt_site *sites = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	assert_true(fd >= 0);
	assert_int_equal(library_symbols_sites(fd, &library, &sites, &n), expected);
	for (size_t i = 0; i < n; i++)
		assert_true(sites[i].offset > 0 && !sites[i].semaphore);
	free(sites);
	close(fd);
	return n;
}

static void test_library_symbols__sites(void **state)
{
	static const char *const one[] = { "write", NULL }, *const two_names[] = { "write", "__write", NULL },
	                         *const two[] = { "write", "getpid", NULL },
	                         *const none[] = { "there_is_no_such_function", NULL },
	                         *const data[] = { "environ", NULL };
	const char *libc = "/lib/x86_64-linux-gnu/" LIBC_SO;

	(void)state;
	assert_int_equal(sites_in(libc, one, 0), 1);
	assert_int_equal(sites_in(libc, two_names, 0), 1);
	assert_int_equal(sites_in(libc, two, 0), 2);
	assert_int_equal(sites_in(libc, none, 0), 0);
	assert_int_equal(sites_in(libc, data, 0), 0);
	assert_int_equal(sites_in("/etc/passwd", one, -ENOEXEC), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_library_calls__names),
		cmocka_unit_test(test_library_calls__rows),
		cmocka_unit_test(test_library_calls__has),
		cmocka_unit_test(test_library_symbols__sites),
	};

	return cmocka_run_group_tests_name("library_symbols", tests, NULL, NULL);
}
