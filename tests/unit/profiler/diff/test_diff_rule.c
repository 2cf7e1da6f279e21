/* Tests of diff_rule.h: what --fail-on takes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "profiler/diff/diff_rule.h"

static void test_diff_rule__reads(void **state)
{
	static const struct {
		const char *text;
		enum diff_subject subject;
		enum top_by what;
		const char *name;
		bool grows, percent, duration;
		double limit;
	} known[] = {
		{ "total:+5%", DIFF_TOTAL, 0, NULL, true, true, false, 5 },
		{ "any:+0%", DIFF_ANY, 0, NULL, true, true, false, 0 },
		{ "total>1.5s", DIFF_TOTAL, 0, NULL, false, false, true, 1.5e9 },
		{ "use:save:+20%", DIFF_USE, 0, "save", true, true, false, 20 },
		{ "use:a:b>1.5s", DIFF_USE, 0, "a:b", false, false, true, 1.5e9 },
		{ "stall:nvme_reset>0", DIFF_NAMED, TOP_BY_STALL, "nvme_reset", false, false, false, 0 },
		{ "cause:block_io:+2ms", DIFF_NAMED, TOP_BY_STALL, "block_io", true, false, true, 2e6 },
		{ "ai_tag:save:+.5us", DIFF_NAMED, TOP_BY_CLASS, "save", true, false, true, 500 },
		{ "function:write_shard:+10%", DIFF_NAMED, TOP_BY_FUNCTION, "write_shard", true, true, false,
		  10 },
		{ "function:a<b>::c(int)>>0", DIFF_NAMED, TOP_BY_FUNCTION, "a<b>::c(int)>", false, false,
		  false, 0 },
		{ "function:operator>>1", DIFF_NAMED, TOP_BY_FUNCTION, "operator>", false, false, false, 1 },
		{ "line:save /src/a:+b.c:42:+3%", DIFF_NAMED, TOP_BY_LINE, "save /src/a:+b.c:42", true, true,
		  false, 3 },
		{ "device:server:/export:+1ns", DIFF_NAMED, TOP_BY_DEVICE, "server:/export", true, false,
		  true, 1 },
	};
	char err[512];

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct diff_rule rule;

		assert_int_equal(diff_rule_parse(&rule, known[i].text, err, sizeof(err)), 0);
		assert_int_equal(rule.subject, known[i].subject);
		assert_int_equal(rule.grows, known[i].grows);
		assert_int_equal(rule.percent, known[i].percent);
		assert_int_equal(rule.duration, known[i].duration);
		assert_true(rule.limit > known[i].limit * 0.999999 - 1e-9 &&
		            rule.limit < known[i].limit * 1.000001 + 1e-9);
		assert_string_equal(rule.text, known[i].text);
		if (known[i].name) {
			assert_string_equal(rule.name, known[i].name);
			assert_int_equal(rule.what, known[i].what);
		}
		diff_rule_release(&rule);
	}
}

static void test_diff_rule__refuses(void **state)
{
	static const struct {
		const char *text, *why;
	} known[] = {
		{ "", "does not end in" },
		{ "total", "does not end in" },
		{ "total:+", "does not end in" },
		{ "total:+x%", "does not end in" },
		{ "total>5%", "does not end in" },
		{ "total:+-5%", "does not end in" },
		{ ">0", "does not end in" },
		{ "total:+1e9%", "does not end in" },
		{ "total:+nan%", "does not end in" },
		{ "whole:+5%", "its subject" },
		{ "colour:x>0", "its subject" },
		{ "total:x>0", "its subject" },
		{ "stall:>0", "no name behind" },
		{ "total:+.%", "does not end in" },
		{ "total:+5 %", "does not end in" },
	};
	char err[512];

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct diff_rule rule;

		assert_int_equal(diff_rule_parse(&rule, known[i].text, err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, known[i].why));
		assert_null(strchr(err, '\n'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_rule__reads),
		cmocka_unit_test(test_diff_rule__refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
