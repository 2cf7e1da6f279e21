/* Tests of top_names.h: the end of a chain of waits, and what has none. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "profiler/loaded/loaded_sample.h"
#include "profiler/top/top_names.h"

static int take_name(void *context, const char *name, bool flat)
{
	snprintf(context, 64, "%s%s", name, flat ? "" : " (not flat)");
	return 0;
}

static void test_top_names__by_inherited(void **state)
{
	static const struct {
		struct loaded_sample sample;
		const char *name;
	} cases[] = {
		{ { .stall = "block_io", .inherited_stall = "" }, "[a stall of its own]" },
		{ { .stall = "sleep", .is_wait = true, .inherited_stall = "" }, "[a sleep of its own]" },
		{ { .stall = "lock", .is_wait = true, .inherited_stall = "" }, "[not known]" },
		{ { .stall = "lock",
		    .is_wait = true,
		    .inherited_stall = "block_io",
		    .inherited_device = "vda",
		    .inherited_from = "loader" },
		  "block_io on vda of loader" },
	};
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
		        top_names_visit(NULL, &cases[i].sample, TOP_BY_INHERITED, NULL, take_name, name), 0);
		assert_string_equal(name, cases[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_names__by_inherited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
