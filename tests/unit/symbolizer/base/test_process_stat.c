/* Tests of process_stat.h: the line of /proc/PID/stat, whatever the process is called. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "symbolizer/base/process_stat.h"

/* What follows the name: each field's number stands in its place. */
#define FIELDS_TO_25 " S 4 5 6 7 8 -1 10 11 12 13 14 15 16 17 18 19 20 0 22 23 24 25"

static void test_process_stat__whatever_the_name(void **state)
{
	static const char *const names[] = { "sh", "", " ", ")", "a) S 1 1 1", ") R 9 (", "((", "a b c" };
	char line[256];
	struct process_stat stat;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(line, sizeof(line), "4711 (%s)" FIELDS_TO_25 " 26 27\n", names[i]);
		assert_int_equal(process_stat_parse(line, &stat), 0);
		assert_int_equal(stat.state, 'S');
		assert_int_equal(stat.parent, 4);
		assert_int_equal(stat.threads, 20);
		assert_int_equal(stat.start_ticks, 22);
		assert_int_equal(stat.code_address, 26);
	}
}

static void test_process_stat__not_a_line(void **state)
{
	struct process_stat stat;

	(void)state;
	assert_int_equal(process_stat_parse("", &stat), -EINVAL);
	assert_int_equal(process_stat_parse("4711 (sh", &stat), -EINVAL);
	assert_int_equal(process_stat_parse("4711 (sh)", &stat), -EINVAL);
	assert_int_equal(process_stat_parse("4711 (sh)" FIELDS_TO_25, &stat), -EINVAL);
}

static void test_process_stat__of_ourselves(void **state)
{
	struct process_stat stat;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, ") R 1 (x y"), 0);
	assert_int_equal(process_stat_read("/proc", (uint32_t)getpid(), &stat), 0);
	assert_int_equal(stat.state, 'R');
	assert_int_equal(stat.parent, getppid());
	assert_int_equal(stat.threads, 1);
	assert_true(stat.start_ticks && stat.code_address);
	assert_int_equal(process_stat_read("/proc", 1 << 30, &stat), -ESRCH);
	assert_int_equal(process_stat_read("/nowhere", 1, &stat), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process_stat__whatever_the_name),
		cmocka_unit_test(test_process_stat__not_a_line),
		cmocka_unit_test(test_process_stat__of_ourselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
