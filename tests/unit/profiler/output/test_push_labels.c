/* Tests of push_labels.h: which labels are accepted. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "profiler/output/push.h"
#include "profiler/output/push_labels.h"

static void test_push_labels__checks_each(void **state)
{
	static char long_name[PUSH_LABEL_NAME_MAX + 2], long_value[PUSH_LABEL_VALUE_MAX + 2];
	const struct push_label table[] = {
		{ "", "x" },     { "0a", "x" },           { "a.b", "x" },     { "a-b", "x" },
		{ "a b", "x" },  { "\xc3\xa9", "x" },     { long_name, "x" }, { "a", long_value },
		{ "a", "\xff" }, { "__name__", "twice" },
	};
	struct push_label labels[2] = { { "__name__", "block" }, { "_aZ_9", "\xc3\xa9" } };
	char err[PUSH_ERR_MAX];
	size_t i;

	(void)state;
	memset(long_name, 'a', sizeof(long_name) - 1);
	memset(long_value, 'v', sizeof(long_value) - 1);
	assert_int_equal(push_labels_check(labels, 2, err, sizeof(err)), 0);
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		labels[1] = table[i];
		if (push_labels_check(labels, 2, err, sizeof(err)) != -EINVAL)
			fail_msg("row %zu is taken", i);
	}
	long_name[PUSH_LABEL_NAME_MAX] = '\0';
	long_value[PUSH_LABEL_VALUE_MAX] = '\0';
	labels[1] = (struct push_label){ long_name, long_value };
	assert_int_equal(push_labels_check(labels, 2, err, sizeof(err)), 0);
	assert_int_equal(push_labels_check(labels + 1, 1, err, sizeof(err)), -EINVAL);
	assert_int_equal(push_labels_check(labels, 0, err, sizeof(err)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push_labels__checks_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
