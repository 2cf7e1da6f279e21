/* Tests of text_cells.h: cutting cells and printing durations. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/text_cells.h"

static void assert_printed(const char *text, size_t columns, const char *expected)
{
	char *printed;
	size_t size;
	FILE *stream = open_memstream(&printed, &size);

	text_print_clean(stream, text, columns);
	fclose(stream);
	assert_string_equal(printed, expected);
	free(printed);
}

static void test_text_cells__cut_and_clean(void **state)
{
	(void)state;
	assert_printed("abcdef", 0, "abcdef");
	assert_printed("abcdef", 6, "abcdef");
	assert_printed("abcdef", 5, "abcd…");
	assert_printed("äöüß", 4, "äöüß");
	assert_printed("äöüß", 3, "äö…");
	assert_printed("\x1b[31mred", 0, "\\x1b[31mred");
	assert_printed("\xc2\x9b"
	               "31m",
	               0, "\\xc2\\x9b31m");
	assert_printed("a\xff", 0, "a\\xff");
	assert_printed("a\u202eb", 0, "a\\xe2\\x80\\xaeb");
	assert_printed("a\u2066\u061c", 0, "a\\xe2\\x81\\xa6\\xd8\\x9c");
	assert_printed("a\u2030\u200d", 0, "a\u2030\u200d");
	assert_printed("a\u200b\u2028", 0, "a\\xe2\\x80\\x8b\\xe2\\x80\\xa8");
	assert_printed("\ufffd\ufffe\uffff", 0, "\ufffd\\xef\\xbf\\xbe\\xef\\xbf\\xbf");
	assert_printed("\ufeff\u2060\ufefc", 0, "\\xef\\xbb\\xbf\\xe2\\x81\\xa0\ufefc");
	assert_printed("ab\x01"
	               "cd",
	               6, "ab…");
	assert_printed("", 1, "");
}

static void test_text_cells__several_lines(void **state)
{
	char *printed, text[4001];
	size_t size;
	FILE *stream = open_memstream(&printed, &size);

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		memcpy(text + 4 * i, "\xf0\x9f\x98\x80", 4);
	text[4000] = '\0';
	text_print_clean_lines(stream, "a\x1b\n\nb\n");
	text_print_clean_lines(stream, text);
	fclose(stream);
	assert_int_equal(strncmp(printed, "a\\x1b\n  \n  b", 12), 0);
	assert_string_equal(printed + 12, text);
	free(printed);
}

static void test_text_cells__durations(void **state)
{
	char text[TEXT_DURATION_BYTES];

	(void)state;
	assert_string_equal(text_duration(text, 0), "0 ns");
	assert_string_equal(text_duration(text, 999), "999 ns");
	assert_string_equal(text_duration(text, 1000), "1.000 us");
	assert_string_equal(text_duration(text, 1234567), "1.235 ms");
	assert_string_equal(text_duration(text, -2500000000), "-2.500 s");
	assert_string_equal(text_duration(text, INT64_MAX), "9223372036.855 s");
	assert_string_equal(text_short_duration(text, 0), "0 ns");
	assert_string_equal(text_short_duration(text, 999), "999 ns");
	assert_string_equal(text_short_duration(text, 1000), "1.00 us");
	assert_string_equal(text_short_duration(text, 12345), "12.3 us");
	assert_string_equal(text_short_duration(text, 9996000), "10.0 ms");
	assert_string_equal(text_short_duration(text, 999500), "1.00 ms");
	assert_string_equal(text_short_duration(text, 9994000), "9.99 ms");
	assert_string_equal(text_short_duration(text, 99940000), "99.9 ms");
	assert_string_equal(text_short_duration(text, 99960000), "100 ms");
	assert_string_equal(text_short_duration(text, 2125000), "2.12 ms");
	assert_string_equal(text_short_duration(text, 2375000), "2.38 ms");
	assert_string_equal(text_short_duration(text, 12250000), "12.2 ms");
	assert_string_equal(text_short_duration(text, 999499999), "999 ms");
	assert_string_equal(text_short_duration(text, 999500000), "1.00 s");
	assert_string_equal(text_short_duration(text, 1234567890123), "1235 s");
	assert_string_equal(text_computed_duration(text, -1), "0 ns");
	assert_string_equal(text_computed_duration(text, NAN), "0 ns");
	assert_string_equal(text_computed_duration(text, 12345.6), "12.3 us");
	assert_string_equal(text_computed_duration(text, 1e30), "18446744074 s");
	assert_string_equal(text_computed_duration(text, INFINITY), "18446744074 s");
}

static void test_text_cells__a_file_is_no_terminal(void **state)
{
	FILE *file = fopen("/dev/null", "we");

	(void)state;
	assert_int_equal(text_terminal_columns(file), 0);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_cells__cut_and_clean),
		cmocka_unit_test(test_text_cells__several_lines),
		cmocka_unit_test(test_text_cells__durations),
		cmocka_unit_test(test_text_cells__a_file_is_no_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
