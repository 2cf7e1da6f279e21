/* Tests of process tags: stalltag_process_parse() reads what stalltag_process_set() writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stalltag/process_tag.h"

static void test_stalltag_process__set_and_parse(void **state)
{
	char name[STALLTAG_NAME_MAX + 1];
	uint64_t id;

	(void)state;
	assert_int_equal(stalltag_process_set(UINT64_MAX, "nightly train/run 42"), 0);
	assert_string_equal(getenv("STALLPROF_TAG"), "18446744073709551615 nightly train/run 42");
	assert_int_equal(stalltag_process_parse(getenv("STALLPROF_TAG"), &id, name, sizeof(name)), 0);
	assert_int_equal(id, UINT64_MAX);
	assert_string_equal(name, "nightly train/run 42");
	assert_int_equal(stalltag_process_set(0, "other"), 0);
	assert_string_equal(getenv("STALLPROF_TAG"), "0 other");
}

static void test_stalltag_process__set_refuses(void **state)
{
	char name[STALLTAG_NAME_MAX + 2];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[STALLTAG_NAME_MAX + 1] = '\0';
	unsetenv("STALLPROF_TAG");
	assert_int_equal(stalltag_process_set(1, NULL), -EINVAL);
	assert_int_equal(stalltag_process_set(1, ""), -EINVAL);
	assert_int_equal(stalltag_process_set(1, "two\nlines"), -EINVAL);
	assert_int_equal(stalltag_process_set(1, name), -ENAMETOOLONG);
	assert_null(getenv("STALLPROF_TAG"));
	name[STALLTAG_NAME_MAX] = '\0';
	assert_int_equal(stalltag_process_set(1, name), 0);
}

static void test_stalltag_process__parse_refuses(void **state)
{
	static const struct {
		const char *value;
		int error;
	} cases[] = {
		{ "", -EINVAL },
		{ "7", -EINVAL },
		{ "7 ", -EINVAL },
		{ " 7 x", -EINVAL },
		{ "+7 x", -EINVAL },
		{ "-7 x", -EINVAL },
		{ "0x7 x", -EINVAL },
		{ "7\tx", -EINVAL },
		{ "7 a\x01", -EINVAL },
		{ "x", -EINVAL },
		{ "18446744073709551616 x", -ERANGE },
		{ "99999999999999999999999 x", -ERANGE },
		{ "7 sixteen_bytes_xx", -ENAMETOOLONG },
	};
	char name[16] = "untouched";
	uint64_t id = 4711;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(stalltag_process_parse(cases[i].value, &id, name, sizeof(name)),
		                 cases[i].error);
		assert_int_equal(id, 4711);
		assert_string_equal(name, "untouched");
	}
	assert_int_equal(stalltag_process_parse("7 fifteen_bytes_x", &id, name, sizeof(name)), 0);
	assert_string_equal(name, "fifteen_bytes_x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalltag_process__set_and_parse),
		cmocka_unit_test(test_stalltag_process__set_refuses),
		cmocka_unit_test(test_stalltag_process__parse_refuses),
	};

	return cmocka_run_group_tests_name("stalltag_process", tests, NULL, NULL);
}
