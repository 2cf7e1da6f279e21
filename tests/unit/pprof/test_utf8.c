/* Tests of utf8.h: which byte strings are well-formed. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "pprof/utf8.h"

static void test_utf8__well_formed_and_not(void **state)
{
	static const struct {
		const char *text;
		size_t size, length;
	} rows[] = {
		{ "a", 1, 1 },
		{ "", 0, 0 },
		{ "\0", 1, 1 },
		{ "\x7f", 1, 1 },
		{ "\xc3\xa9", 2, 2 },
		{ "\xe2\x82\xac", 3, 3 },
		{ "\xf0\x9f\x98\x80", 4, 4 },
		{ "\xf4\x8f\xbf\xbf", 4, 4 },
		{ "\xed\x9f\xbf", 3, 3 },
		{ "\x80", 1, 0 },             /* a continuation alone */
		{ "\xc3", 1, 0 },             /* cut short */
		{ "\xe2\x82", 2, 0 },         /* cut short */
		{ "\xc3\xa9", 1, 0 },         /* cut by the size */
		{ "\xc0\x80", 2, 0 },         /* overlong NUL */
		{ "\xc1\xbf", 2, 0 },         /* overlong */
		{ "\xe0\x9f\xbf", 3, 0 },     /* overlong */
		{ "\xf0\x8f\xbf\xbf", 4, 0 }, /* overlong */
		{ "\xed\xa0\x80", 3, 0 },     /* a surrogate */
		{ "\xf4\x90\x80\x80", 4, 0 }, /* above U+10FFFF */
		{ "\xf5\x80\x80\x80", 4, 0 },
		{ "\xe2\x28\xa1", 3, 0 },
		{ "\xe2\x82\x28", 3, 0 },
		{ "\xff", 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (utf8_sequence(rows[i].text, rows[i].size) != rows[i].length)
			fail_msg("row %zu: %zu", i, utf8_sequence(rows[i].text, rows[i].size));
}

static void test_utf8__cleaned(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "plain", "plain" },
		{ "\xff"
		  "a\x1b\x7f",
		  "_a__" },
		{ "\xc2\x85", "_" },
		{ "abcdefgh", "abcdefg" },
		{ "abcdef\xc3\xa9", "abcdef" },
		{ "abcde\xc3\xa9", "abcde\xc3\xa9" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char out[8];

		utf8_clean(out, sizeof(out), rows[i].text, strlen(rows[i].text));
		assert_string_equal(out, rows[i].want);
	}
}

static void test_utf8__mended(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "caf\xe9.c", "caf\xef\xbf\xbd.c" },
		{ "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc3\xa9\xed\xa0\x80", "\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *mended = utf8_mended(rows[i].text);

		assert_string_equal(mended, rows[i].want);
		assert_true(utf8_is_text(mended, strlen(mended)));
		assert_int_equal(utf8_is_text(rows[i].text, strlen(rows[i].text)),
		                 !strcmp(rows[i].text, rows[i].want));
		free(mended);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_utf8__well_formed_and_not),
		                            cmocka_unit_test(test_utf8__cleaned),
		                            cmocka_unit_test(test_utf8__mended) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
