/* Tests of maps.h: parsing lines of /proc/PID/maps. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/maps.h"

static int parse(const char *text, struct maps_entry *out)
{
	static char line[4096];

	snprintf(line, sizeof(line), "%s", text);
	return maps_parse_line(line, out);
}

static void test_maps__a_line_of_a_library(void **state)
{
	struct maps_entry e;

	(void)state;
	assert_int_equal(parse("7f0623800000-7f0623bff000 r-xp 00026000 fd:01 1835023                    "
	                       "/lib/libc.so.6",
	                       &e),
	                 0);
	assert_true(e.start == 0x7f0623800000 && e.end == 0x7f0623bff000 && e.offset == 0x26000);
	assert_true(e.readable && !e.writable && e.executable && !e.shared && !e.deleted);
	assert_true(e.dev_major == 0xfd && e.dev_minor == 1 && e.inode == 1835023);
	assert_string_equal(e.path, "/lib/libc.so.6");
}

static void test_maps__paths(void **state)
{
	static const struct {
		const char *tail, *path;
		bool deleted;
	} cases[] = {
		{ "", "", false },
		{ " ", "", false },
		{ "     [vdso]", "[vdso]", false },
		{ " /a b (c)", "/a b (c)", false },
		{ " /tmp/x (deleted)", "/tmp/x", true },
		{ " /tmp/two\\012lines", "/tmp/two\nlines", false },
		{ " (deleted)", "(deleted)", false },
		{ " /tmp/\\134", "/tmp/\\134", false },
	};
	struct maps_entry e;
	char line[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(line, sizeof(line), "1000-2000 rw-s 0 00:00 0%s", cases[i].tail);
		assert_int_equal(parse(line, &e), 0);
		assert_string_equal(e.path, cases[i].path);
		assert_int_equal(e.deleted, cases[i].deleted);
		assert_true(e.shared && e.writable && !e.executable);
	}
}

static void test_maps__not_a_line(void **state)
{
	static const char *const lines[] = {
		"",
		"1000",
		"1000-2000",
		"1000-2000 r-x 0 00:00 0",
		"2000-1000 r-xp 0 00:00 0",
		"1000-1000 r-xp 0 00:00 0",
		"-2000 r-xp 0 00:00 0",
		"1000-2000 r-xp 0 0000 0",
		"1000-2000 r-xp 0 00:00 12x",
		"10000000000000000-20000000000000000 r-xp 0 00:00 0",
		"1000-2000 r-xp 0 100000000:00 0",
		"1000-2000 r-xp 0 00:00 99999999999999999999",
	};
	struct maps_entry e;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_int_equal(parse(lines[i], &e), -EINVAL);
}

static int count(const struct maps_entry *entry, void *context)
{
	int *n = context;

	assert_true(entry->start < entry->end);
	return ++*n == 2 ? -ECANCELED : 0;
}

static void test_maps__stops_when_told(void **state)
{
	static const char text[] =
	        "nonsense\n1000-2000 r-xp 0 0:0 0\n2000-3000 r-xp 0 0:0 0\n3000-4000 r-xp 0 0:0 0\n";
	FILE *file = tmpfile();
	size_t bad = 0;
	int n = 0;

	(void)state;
	assert_non_null(file);
	fwrite(text, 1, sizeof(text) - 1, file);
	rewind(file);
	assert_int_equal(maps_read(fileno(file), count, &n, &bad), -ECANCELED);
	assert_int_equal(n, 2);
	assert_int_equal(bad, 1);
	fclose(file);
	assert_int_equal(maps_read(-1, count, &n, NULL), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maps__a_line_of_a_library),
		cmocka_unit_test(test_maps__paths),
		cmocka_unit_test(test_maps__not_a_line),
		cmocka_unit_test(test_maps__stops_when_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
