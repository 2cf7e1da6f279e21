/* Tests of python_lines.h: the three forms of line tables. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "symbolizer/python/python_lines.h"

/* In memory of just its size, so that a sanitizer sees a read beyond its end. */
static uint32_t line_at(enum python_lines_form form, const void *table, size_t len, int first, int64_t offset)
{
	uint8_t *copy = malloc(len ? len : 1);
	uint32_t line;

	memcpy(copy, table, len);
	line = python_line(form, copy, len, first, offset);
	free(copy);
	return line;
}

static void test_python_lines__lnotab(void **state)
{
	/* Lines 10, 12 from byte 6, 9 from byte 300, which takes two pairs. */
	const uint8_t table[] = { 6, 2, 255, 0, 39, (uint8_t)-3, 7 };

	(void)state;
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, 7, 10, -1), 10);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, 7, 10, 0), 10);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, 7, 10, 5), 10);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, 7, 10, 6), 12);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, 7, 10, 299), 12);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, 7, 10, 300), 9);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, 7, 10, 9999), 9);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, 0, 10, 4), 10);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, 7, 2, 9999), 1);
	assert_int_equal(line_at(PYTHON_LINES_LNOTAB, table, 7, 1, 9999), 0);
}

static void test_python_lines__ranges(void **state)
{
	/* 0-5 line 11, 6-9 none, 10-13 line 9; the increment of a range without a line does not count. */
	const uint8_t table[] = { 6, 1, 4, (uint8_t)-128, 4, (uint8_t)-2, 9 };

	(void)state;
	assert_int_equal(line_at(PYTHON_LINES_RANGES, table, 7, 10, -2), 10);
	assert_int_equal(line_at(PYTHON_LINES_RANGES, table, 7, 10, 0), 11);
	assert_int_equal(line_at(PYTHON_LINES_RANGES, table, 7, 10, 5), 11);
	assert_int_equal(line_at(PYTHON_LINES_RANGES, table, 7, 10, 6), 0);
	assert_int_equal(line_at(PYTHON_LINES_RANGES, table, 7, 10, 10), 9);
	assert_int_equal(line_at(PYTHON_LINES_RANGES, table, 7, 10, 14), 0);
}

static void test_python_lines__locations(void **state)
{
	const uint8_t table[] = {
		0x80 | 13 << 3 | 1,
		8, /* 0-3: svarint 8: +4, no columns: 14 */
		0x80 | 3 << 3 | 0,
		0x11, /* 4-5: short form: the same */
		0x80 | 10 << 3 | 0,
		1,
		2, /* 6-7: one line, +0 */
		0x80 | 11 << 3 | 0,
		1,
		2, /* 8-9: +1: 15 */
		0x80 | 12 << 3 | 7,
		1,
		2,                  /* 10-25: +2: 17 */
		0x80 | 15 << 3 | 0, /* 26-27: none */
		0x80 | 14 << 3 | 0,
		0x43,
		3,
		0,
		1,
		1, /* 28-29: svarint 3 | 3 << 6 = 195: -97 */
		0x80 | 14 << 3 | 0,
		0x40,
		0x40,
		0x40,
		0x40,
		0x40,
		0x40,
		0x40,               /* 30-31: a number without an end */
		0x80 | 13 << 3 | 0, /* 32-33: cut off */
	};
	const int64_t offsets[] = { -2, 0, 3, 4, 6, 8, 10, 25, 26, 28, 30, 32, 34 };
	const uint32_t lines[] = { 100, 104, 104, 104, 104, 105, 107, 107, 0, 10, 10, 10, 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		assert_int_equal(line_at(PYTHON_LINES_LOCATIONS, table, sizeof(table), 100, offsets[i]),
		                 lines[i]);
	assert_int_equal(line_at(PYTHON_LINES_LOCATIONS, table + 1, sizeof(table) - 1, 100, 0), 0);
	assert_int_equal(line_at(PYTHON_LINES_LOCATIONS, table, 0, 100, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python_lines__lnotab),
		cmocka_unit_test(test_python_lines__ranges),
		cmocka_unit_test(test_python_lines__locations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
