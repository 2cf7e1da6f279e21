/* Tests of scrape_text.h: Prometheus' text format, and which bytes are values of labels. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/scrape/scrape_text.h"

static void test_scrape_text__samples(void **state)
{
	const struct scrape_label labels[] = { { "ai_tag", "a\\b\"c\nd" }, { "device", "" } };
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	scrape_text_metric(out, "x_total", "counter", "Back\\slash and\nline.");
	scrape_text_number(out, "x_total", NULL, 0, UINT64_MAX);
	scrape_text_seconds(out, "x_total", labels, 2, 1);
	scrape_text_seconds(out, "x_total", labels, 1, -1500000000);
	scrape_text_seconds(out, "x_total", NULL, 0, INT64_MAX);
	scrape_text_seconds(out, "x_total", NULL, 0, INT64_MIN);
	fclose(out);
	assert_string_equal(text, "# HELP x_total Back\\\\slash and\\nline.\n"
	                          "# TYPE x_total counter\n"
	                          "x_total 18446744073709551615\n"
	                          "x_total{ai_tag=\"a\\\\b\\\"c\\nd\",device=\"\"} 0.000000001\n"
	                          "x_total{ai_tag=\"a\\\\b\\\"c\\nd\"} -1.500000000\n"
	                          "x_total 9223372036.854775807\n"
	                          "x_total -9223372036.854775808\n");
	free(text);
}

static void expect_clean(const char *text, const char *expected)
{
	char value[SCRAPE_VALUE_MAX];

	scrape_text_clean(text, value);
	assert_string_equal(value, expected);
}

static void test_scrape_text__any_bytes_become_utf8(void **state)
{
	(void)state;
	expect_clean("", "");
	expect_clean("läufer \"1\" \\", "läufer \"1\" \\");
	expect_clean("a\nb\x7f", "a\\x0ab\\x7f");
	expect_clean("\xff\xc3", "\\xff\\xc3");
	expect_clean("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* a surrogate */
}

static void test_scrape_text__long_values_are_cut_between_characters(void **state)
{
	char text[2 * SCRAPE_VALUE_MAX + 1], value[SCRAPE_VALUE_MAX];

	(void)state;
	for (size_t i = 0; i < SCRAPE_VALUE_MAX; i++)
		memcpy(text + 2 * i, "ä", 2);
	text[2 * SCRAPE_VALUE_MAX] = '\0';
	scrape_text_clean(text, value);
	assert_int_equal(strlen(value),
	                 SCRAPE_VALUE_MAX - 2); /* an odd number of bytes is left with the NUL */
	assert_memory_equal(value, text, strlen(value));
	memset(text, '\xff', sizeof(text) - 1);
	scrape_text_clean(text, value);
	assert_int_equal(strlen(value) % 4, 0);
	assert_true(strlen(value) > SCRAPE_VALUE_MAX - 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scrape_text__samples),
		cmocka_unit_test(test_scrape_text__any_bytes_become_utf8),
		cmocka_unit_test(test_scrape_text__long_values_are_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
