/* Tests of no_proxy.h: libcurl asks these without a proxy. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "profiler/output/no_proxy.h"

static void assert_hosts(const char *expected)
{
	char *hosts = no_proxy_hosts();

	assert_string_equal(hosts, expected);
	free(hosts);
}

static void test_no_proxy__this_host_and_those_of_the_environment(void **state)
{
	(void)state;
	unsetenv("no_proxy");
	unsetenv("NO_PROXY");
	assert_hosts("localhost,127.0.0.0/8,::1");
	setenv("NO_PROXY", "a.example,b.example", 1);
	assert_hosts("localhost,127.0.0.0/8,::1,a.example,b.example");
	setenv("no_proxy", "", 1); /* as if it was not set */
	assert_hosts("localhost,127.0.0.0/8,::1,a.example,b.example");
	setenv("no_proxy", "*", 1);
	assert_hosts("*");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_proxy__this_host_and_those_of_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
