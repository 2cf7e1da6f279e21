/* Tests of class_comments.h: writing the comments of a profile and reading them back. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/class_comments.h"
#include "profiler/format/ledger_row.h"

static struct profile *new_profile(void)
{
	static const struct profile_value_type type = { "delay", "nanoseconds" };
	struct profile *profile = profile_new(&type, 1, type, 1, 1 << 24);

	assert_non_null(profile);
	profile_set_time(profile, 77, 1);
	return profile;
}

static void add(struct ledger *ledger, const char *tag, const char *class, enum ledger_state state,
                const char *cause, uint64_t ns)
{
	struct ledger_row row = {
		.tag = (char *)tag, .class = (char *)class, .state = state, .cause = (char *)cause, .ns = ns
	};

	assert_int_equal(ledger_add(ledger, &row), 0);
}

static struct profile *recorded(void)
{
	struct ledger *ledger = ledger_new(0);
	struct profile *profile = new_profile();

	add(ledger, "ckpt/1", "ckpt", LEDGER_STALL, "block_io", 1500000000);
	add(ledger, "ckpt/2", "ckpt", LEDGER_STALL, "block_io", 7);
	add(ledger, "ckpt/2", "ckpt", LEDGER_ONCPU, "", 3);
	add(ledger, "ckpt/2", "ckpt", LEDGER_STALL, "odd \"cause\"", 5);
	add(ledger, "load", "a class", LEDGER_BLOCKED, "pipe", 20);
	add(ledger, "load", "a class", LEDGER_BLOCKED, "lock", 22);
	assert_int_equal(ledger_to_notes(ledger, profile), 0);
	ledger_free(ledger);
	return profile;
}

static void test_class_comments__one_line_a_class(void **state)
{
	struct profile *profile = recorded();

	(void)state;
	assert_int_equal(class_comments_add(profile), 0);
	assert_int_equal(profile_n_comments(profile), 2);
	assert_string_equal(profile_comment(profile, 0),
	                    "stallprof.class tag=\"a class\" wall_s=0.000000042 blocked_s=0.000000042 at=77");
	assert_string_equal(profile_comment(profile, 1),
	                    "stallprof.class tag=ckpt wall_s=1.500000015 oncpu_s=0.000000003 "
	                    "block_io_s=1.500000007 stall_s=0.000000005 at=77");
	profile_free(profile);
}

static void test_class_comments__are_read_back(void **state)
{
	struct profile *profile = recorded();
	struct ledger *back = ledger_new(0);
	size_t found, malformed = 0;

	(void)state;
	assert_int_equal(class_comments_add(profile), 0);
	assert_int_equal(class_comments_read(back, profile, &found, &malformed), 0);
	assert_int_equal(found, 2);
	assert_int_equal(malformed, 0);
	assert_int_equal(ledger_wall_ns(back, "ckpt"), 1500000015);
	assert_int_equal(ledger_wall_ns(back, "a class"), 42);
	assert_int_equal(ledger_at(back, 1)->state, LEDGER_ONCPU);
	assert_int_equal(ledger_at(back, 3)->state, LEDGER_STALL);
	assert_string_equal(ledger_at(back, 3)->cause, "block_io");
	assert_string_equal(ledger_at(back, 3)->class, "ckpt");
	ledger_free(back);
	profile_free(profile);
}

static void test_class_comments__more_causes_than_fields(void **state)
{
	struct ledger *ledger = ledger_new(0);
	struct profile *profile = new_profile();
	size_t found, malformed = 0;
	char cause[32];

	(void)state;
	for (int i = 0; i < 60; i++) {
		snprintf(cause, sizeof(cause), "cause%d", i);
		add(ledger, "t", "t", LEDGER_STALL, cause, 1);
	}
	for (unsigned int i = 0; i < LEDGER_STATES; i++)
		add(ledger, "t", "t", i, "", 1);
	assert_int_equal(ledger_to_notes(ledger, profile), 0);
	assert_int_equal(class_comments_add(profile), 0);
	ledger_free(ledger);
	ledger = ledger_new(0);
	assert_int_equal(class_comments_read(ledger, profile, &found, &malformed), 0);
	assert_int_equal(malformed, 0);
	assert_int_equal(ledger_wall_ns(ledger, "t"), 60 + LEDGER_STATES);
	ledger_free(ledger);
	profile_free(profile);
}

static void test_class_comments__malformed_lines_are_counted(void **state)
{
	static const char *const lines[] = {
		"stallprof.class tag=a oncpu_s=1.000000000 new=field", /* good */
		"stallprof.classes tag=a",                             /* not ours */
		"stallprof.class",
		"stallprof.class tag=a oncpu_s=1",
		"stallprof.class tag=a oncpu_s=1.5",
		"stallprof.class tag=a oncpu_s=.500000000",
		"stallprof.class tag=a oncpu_s=--1.000000000",
		"stallprof.class tag=a oncpu_s=99999999999999.000000000",
	};
	struct profile *profile = new_profile();
	struct ledger *ledger = ledger_new(0);
	size_t found, malformed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(profile_add_comment(profile, lines[i]), 0);
	assert_int_equal(class_comments_read(ledger, profile, &found, &malformed), 0);
	assert_int_equal(found, 1);
	assert_int_equal(malformed, 6);
	assert_int_equal(ledger_wall_ns(ledger, NULL), 1000000000);
	ledger_free(ledger);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_class_comments__one_line_a_class),
		cmocka_unit_test(test_class_comments__are_read_back),
		cmocka_unit_test(test_class_comments__more_causes_than_fields),
		cmocka_unit_test(test_class_comments__malformed_lines_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
