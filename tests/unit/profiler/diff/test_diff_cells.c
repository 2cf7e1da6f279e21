/* Tests of diff_cells.h: values of a comparison as text. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "profiler/diff/diff_cells.h"
#include "profiler/diff/diff_result.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_diff_cells__percent(void **state)
{
	static const struct {
		double base, new;
		const char *text;
	} rows[] = {
		{ 100, 105.1, "+5.1 %" }, { 100, 90, "-10.0 %" }, { 100, 100, "+0.0 %" },
		{ 0, 5, "new" },          { 5, 0, "gone" },       { 1, 101, "+10000.0 %" },
		{ 1, 5420.56, "x 5421" }, { 1, 3e9, "x 3e+09" },
	};
	char text[DIFF_CELL_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct diff_bound bound = { .value = { rows[i].base, rows[i].new } };

		assert_string_equal(diff_cell_percent(text, &bound), rows[i].text);
	}
}

/* Sums of what a profile claims may be beyond any type of whole numbers, or below 0. */
static void test_diff_cells__any_duration(void **state)
{
	struct diff_side side = { .place = "a", .count = 1 };
	struct diff_use_class use = { .class = "save",
		                      .median_ns = { 1e30, -1 },
		                      .oncpu_ns = { -1e30, 1e30 } };
	char text[DIFF_SIDE_BYTES], of_use[DIFF_USE_BYTES];

	(void)state;
	side.amount[DIFF_PER_WALL] = 1e30;
	assert_string_equal(diff_side_text(text, &side), "a: 18446744074 s in 1 window");
	side.amount[DIFF_PER_WALL] = -1;
	assert_string_equal(diff_side_text(text, &side), "a: unknown time in 1 window");
	assert_non_null(strstr(
	        diff_use_text(of_use, &use),
	        "save: 18446744074 s to 0 ns; on average 0 ns to 0 ns, of it on-CPU 0 ns to 18446744074 s"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_cells__percent),
		cmocka_unit_test(test_diff_cells__any_duration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
