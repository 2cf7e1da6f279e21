/* Tests of top_oncpu.h: who computes, and how that is to be seen. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/loaded/loaded_classes.h"
#include "profiler/top/top_oncpu.h"
#include "tests/unit/loaded_fixture.h"

static const struct loaded_filter all = { .waits = false };

/* What is said of a ledger that covers 100 ms. */
static char *said(struct loaded_profiles *input, size_t type, size_t lines)
{
	struct loaded_tags *tags = loaded_tags_new(input);
	struct loaded_classes classes;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(loaded_classes_build(&classes, input, &all, LOADED_LEVEL_CLASS), 0);
	assert_int_equal(top_text_oncpu(out, input, tags, type, &classes), lines);
	fclose(out);
	loaded_classes_free(&classes);
	loaded_tags_free(tags);
	return text;
}

static void expect(struct loaded_profiles *input, size_t type, const char *expected)
{
	char *text = said(input, type, count_lines(expected));

	assert_string_equal(text, expected);
	free(text);
}

static struct loaded_profiles input_new(void)
{
	struct loaded_profiles input = { .profile = profile_new(types, 3, types[CPU], 1, 1 << 20),
		                         .ledger = ledger_new(0),
		                         .stamp = stamp_new(),
		                         .files = 1 };

	assert_int_equal(stamp_add_window(input.stamp, 1000, 1000 + 100 * MS), 0);
	return input;
}

static void input_free(struct loaded_profiles *input)
{
	stamp_free(input->stamp);
	ledger_free(input->ledger);
	profile_free((struct profile *)input->profile);
}

static void test_top_oncpu__of_several_the_busiest(void **state)
{
	struct loaded_profiles input = input_new();

	(void)state;
	add_row(input.ledger, "step", 1, LEDGER_ONCPU, "", 20 * MS);
	add_row(input.ledger, "loader", 1, LEDGER_ONCPU, "", 40 * MS);
	add_row(input.ledger, "loader", 1, LEDGER_RUNQUEUE, "", 50 * MS);
	add_row(input.ledger, "loader", 1, LEDGER_BLOCKED, "poll", 60 * MS);
	expect(&input, DELAY, "\nWhere loader computes: record --oncpu-hz 99, then top --type cpu.\n");
	expect(&input, CPU, ""); /* what is asked for already */
	input_free(&input);
}

static void test_top_oncpu__sampled_already(void **state)
{
	struct loaded_profiles input = input_new();
	struct profile *profile = (struct profile *)input.profile;
	struct profile_frame frame = { .function = "grind" };
	int64_t id = profile_location(profile, 0, 1, &frame, 1);

	(void)state;
	add_row(input.ledger, "step", 1, LEDGER_ONCPU, "", 20 * MS);
	add_sample(profile, &id, 1, 0, 5 * MS, "step", "0000000000000001", "block_io", "vda");
	expect(&input, DELAY, "\nWhere step computes: record --oncpu-hz 99, then top --type cpu.\n");
	add_sample(profile, &id, 1, 0, 5 * MS, "step", "0000000000000001", "none", "");
	expect(&input, DELAY, "\nWhere step computes: top --type cpu.\n");
	input_free(&input);
}

/* Half of its own time, and a tenth of the recording's. */
static void test_top_oncpu__waits_or_is_short(void **state)
{
	struct loaded_profiles input = input_new();

	(void)state;
	add_row(input.ledger, "short", 1, LEDGER_ONCPU, "", 10 * MS);
	add_row(input.ledger, "waits", 1, LEDGER_ONCPU, "", 40 * MS);
	add_row(input.ledger, "waits", 1, LEDGER_STALL, "block_io", 41 * MS);
	expect(&input, DELAY, "");
	add_row(input.ledger, "short", 1, LEDGER_ONCPU, "", 1 * MS);
	expect(&input, DELAY, "\nWhere short computes: record --oncpu-hz 99, then top --type cpu.\n");
	input_free(&input);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_oncpu__of_several_the_busiest),
		cmocka_unit_test(test_top_oncpu__sampled_already),
		cmocka_unit_test(test_top_oncpu__waits_or_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
