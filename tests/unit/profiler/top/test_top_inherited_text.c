/* Tests of top_inherited_text.h: parts that read alike are one, the longest first. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "profiler/top/top_code.h"
#include "profiler/top/top_inherited_text.h"

#define MS 1000000

static void test_top_inherited_text__by_several(void **state)
{
	static const struct top_inherited parts[] = {
		{ .waker = "b", .from = "loader", .stall = "block_io", .device = "vda", .ns = 500 * MS },
		{ .waker = "a", .from = "hold", .stall = "sleep", .device = "", .ns = 400 * MS },
		{ .waker = "b", .from = "hold", .stall = "sleep", .device = "", .ns = 300 * MS },
		{ .waker = "a", .from = "hold", .stall = "lock", .device = "", .ns = 100 * MS },
	};
	const struct top_code code = { .inherited = parts, .n_inherited = 4, .ns = 1300 * MS };
	char text[256];

	(void)state;
	assert_true(top_inherited_text(text, sizeof(text), &code) > 0);
	assert_string_equal(text,
	                    "700 ms sleep of hold, 500 ms block_io on vda of loader, 100 ms lock of hold");
}

/* More kinds than there is room for. */
static void test_top_inherited_text__very_many(void **state)
{
	struct top_inherited parts[200];
	const struct top_code code = { .inherited = parts, .n_inherited = 200, .ns = 200 * MS };
	char text[256], names[200][16];

	(void)state;
	for (int i = 0; i < 200; i++) {
		snprintf(names[i], sizeof(names[i]), "t%d", i);
		parts[i] = (struct top_inherited){ .waker = "",
			                           .from = names[i],
			                           .stall = "sleep",
			                           .device = "",
			                           .ns = (i ? 1 : 100) * MS };
	}
	assert_true(top_inherited_text(text, sizeof(text), &code) > 0);
	assert_string_equal(text, "100 ms sleep of t0");
}

static void test_top_inherited_text__none(void **state)
{
	const struct top_code code = { .ns = 5 * MS };
	char text[16] = "before";

	(void)state;
	assert_int_equal(top_inherited_text(text, sizeof(text), &code), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_inherited_text__by_several),
		cmocka_unit_test(test_top_inherited_text__very_many),
		cmocka_unit_test(test_top_inherited_text__none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
