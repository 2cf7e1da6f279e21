/* Tests of diff_cells.h: values of a comparison as text. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/diff/diff_cells.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_cells__percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
