/* Tests of near_names.h: the names most like one that is not there. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "profiler/format/near_names.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_near_names__nearest(void **state)
{
	static const char *const names[] = { "block_io", "writeback", "journal",   "blk_tag",  "inode_lock",
		                             "a",        "",          "block_io2", "block_ios" };
	static const struct {
		const char *wanted, *near;
	} rows[] = {
		{ "blockio", "block_io, block_io2, block_ios" },
		{ "journl", "journal" },
		{ "write_back", "writeback" },
		{ "nothing_of_the_kind", "" },
		{ "", "" },
	};
	char text[NEAR_NAMES_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct near_names near = { .wanted = rows[i].wanted };

		for (size_t n = 0; n < COUNT(names); n++)
			if (*names[n])
				near_names_look(&near, names[n], names[n]);
		assert_string_equal(near_names_text(text, &near), rows[i].near);
	}
}

/* However long they are. */
static void test_near_names__long(void **state)
{
	char name[5000], text[NEAR_NAMES_BYTES];
	struct near_names near = { .wanted = name };

	(void)state;
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < 5; i++)
		near_names_look(&near, name, name);
	assert_int_equal(near.count, NEAR_NAMES_MAX);
	assert_int_equal(strlen(near_names_text(text, &near)), 3 * 150 + 2 * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_near_names__nearest),
		cmocka_unit_test(test_near_names__long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
