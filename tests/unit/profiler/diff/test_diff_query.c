/* Tests of diff_query.h: pyroscope://host/service{labels}@from..to. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/diff/diff_query.h"

#define NOW_MS 1700000000000

static void test_diff_query__reads(void **state)
{
	static const struct {
		const char *text, *url, *conditions;
		int64_t from_ms, to_ms;
	} known[] = {
		{ "pyroscope://h/train@now-1h..now", "http://h:4040", "service_name=\"train\"",
		  NOW_MS - 3600000, NOW_MS },
		{ "pyroscopes://h:8443/train@now-90s..now-15m", NULL, NULL, 0, 0 },
		{ "pyroscopes://h/t@now-2d..now-15m", "https://h:443", "service_name=\"t\"",
		  NOW_MS - 172800000, NOW_MS - 900000 },
		{ "pyroscope://127.0.0.1:4041/t@1600000000..1600000060", "http://127.0.0.1:4041",
		  "service_name=\"t\"", 1600000000000, 1600000060000 },
		{ "pyroscope://[::1]/t@1..2", "http://[::1]:4040", "service_name=\"t\"", 1000, 2000 },
		{ "pyroscope://[::1]:9/t@1..2", "http://[::1]:9", "service_name=\"t\"", 1000, 2000 },
		{ "pyroscope://h/t{stall=\"throttle\"}@2026-11-23T10:00:00Z..2026-11-23T10:30:00Z",
		  "http://h:4040", "stall=\"throttle\",service_name=\"t\"", 1795428000000, 1795429800000 },
		{ "pyroscope://h/{service_name=\"a/b\",x=~\"}@\\\"{\"}@1..2", "http://h:4040",
		  "service_name=\"a/b\",x=~\"}@\\\"{\"", 1000, 2000 },
		{ "pyroscope://h/t{x=`}`}@1..2", "http://h:4040", "x=`}`,service_name=\"t\"", 1000, 2000 },
	};
	char err[512];

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct diff_query query;
		int result = diff_query_parse(&query, known[i].text, NOW_MS, err, sizeof(err));

		if (!known[i].url) {
			assert_int_equal(result, -EINVAL);
			assert_non_null(strstr(err, "ends before it begins"));
			continue;
		}
		assert_int_equal(result, 0);
		assert_string_equal(query.url, known[i].url);
		assert_string_equal(query.conditions, known[i].conditions);
		assert_int_equal(query.from_ms, known[i].from_ms);
		assert_int_equal(query.to_ms, known[i].to_ms);
		diff_query_release(&query);
	}
	assert_true(diff_query_is("pyroscopes://x") && !diff_query_is("pyroscope") &&
	            !diff_query_is("http://x"));
}

static void test_diff_query__refuses(void **state)
{
	static const struct {
		const char *text, *why;
	} known[] = {
		{ "http://h/t@1..2", "must begin with" },
		{ "pyroscope://", "a host and a service" },
		{ "pyroscope://h", "a host and a service" },
		{ "pyroscope:///t@1..2", "a host and a service" },
		{ "pyroscope://user:pw@h/t@1..2", "a character that no host has" },
		{ "pyroscope://h/@1..2", "no service" },
		{ "pyroscope://h/t", "no @FROM..TO" },
		{ "pyroscope://h/t@1", "FROM..TO" },
		{ "pyroscope://h/t@2..1", "ends before it begins" },
		{ "pyroscope://h/t@yesterday..now", "no time" },
		{ "pyroscope://h/t@now-5y..now", "no time" },
		{ "pyroscope://h/t@now-..now", "no time" },
		{ "pyroscope://h/t@1..2026-13-01T00:00:00Z", "no time" },
		{ "pyroscope://h/a/b@1..2", "has no /" },
		{ "pyroscope://h/t{a=\"b}@1..2", "no closing }" },
		{ "pyroscope://h/t{}1..2", "no @FROM..TO" },
	};
	char err[512];

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct diff_query query;

		assert_int_equal(diff_query_parse(&query, known[i].text, NOW_MS, err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, known[i].why));
	}
}

static void test_diff_query__escapes(void **state)
{
	char *text = diff_query_and("a=\"b\"", "device", "x\"y\\z\n");

	(void)state;
	assert_string_equal(text, "a=\"b\",device=\"x\\\"y\\\\z\\n\"");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_query__reads),
		cmocka_unit_test(test_diff_query__refuses),
		cmocka_unit_test(test_diff_query__escapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
