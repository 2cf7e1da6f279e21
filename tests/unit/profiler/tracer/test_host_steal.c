/* Tests of host_steal.h: steal time from /proc/stat. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/tracer/host_steal.h"
#include "profiler/format/stamp.h"

static uint64_t steal_of(const char *text)
{
	char path[] = "/tmp/stallprof-steal-XXXXXX";
	int fd = mkstemp(path);
	uint64_t ns;

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "%s", text) >= 0);
	close(fd);
	ns = host_steal_ns(path);
	unlink(path);
	return ns;
}

static void test_host_steal__is_the_eighth_number(void **state)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);

	(void)state;
	assert_int_equal(steal_of("cpu  10 20 30 40 50 60 70 123 80 90\ncpu0 1 2 3 4 5 6 7 8 9 10\n"),
	                 123 * tick_ns);
	assert_int_equal(steal_of("cpu  10 20 30 40\n"), 0); /* of a kernel that does not tell */
	assert_int_equal(steal_of(""), 0);
	assert_int_equal(host_steal_ns("/nonexistent"), 0);
}

static void test_host_steal__counts_from_the_last_time(void **state)
{
	uint64_t before = host_steal_ns(HOST_STAT);
	struct stamp_growth growth = { before };
	struct stamp *stamp = stamp_new();

	(void)state;
	assert_int_equal(host_steal_describe(&growth, stamp), 0);
	assert_int_equal(stamp_counter(stamp, "steal_ns"), growth.told - before);
	assert_true(growth.told >= before && growth.told <= host_steal_ns(HOST_STAT));
	stamp_free(stamp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host_steal__is_the_eighth_number),
		cmocka_unit_test(test_host_steal__counts_from_the_last_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
