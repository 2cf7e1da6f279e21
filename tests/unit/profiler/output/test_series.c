/* Tests of series.h: the samples of `block` and `process_cpu`. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/output/series.h"
#include "profiler/format/tag_hash.h"

#define ROOM (1 << 20)

static struct profile *combined(void)
{
	const struct profile_value_type types[] = { { "contentions", "count" },
		                                    { "delay", "nanoseconds" },
		                                    { "cpu", "nanoseconds" },
		                                    { "recovery", "nanoseconds" } };
	const struct profile_label tags[] = { { .key = "ai_tag", .str = "step" },
		                              { .key = TAG_HASH_LABEL, .num = 5, .unit = TAG_HASH_UNIT } };
	const struct profile_label fence[] = { { .key = "ai_tag", .str = "step" },
		                               { .key = "seqno", .num = 7, .unit = "detail" } };
	const struct profile_frame wait = { .function = "wait" }, spin = { .function = "spin" };
	const struct profile_frame reset = { .function = "reset" };
	const int64_t waited[] = { 1, 100, 0, 0 }, waited_again[] = { 2, 400, 0, 0 },
	              spun[] = { 0, 0, 70, 0 };
	const int64_t worked[] = { 0, 0, 0, 9 };
	struct profile *p = profile_new(types, 4, types[0], 1, ROOM);
	int64_t main_binary, a, b, c;

	assert_non_null(p);
	profile_set_time(p, 1000, 10);
	main_binary = profile_mapping(p, 0x1000, 0x2000, 0, "/bin/train", "abcd", true, true);
	a = profile_location(p, main_binary, 0x1010, &wait, 1);
	b = profile_location(p, main_binary, 0x1020, &spin, 1);
	assert_int_equal(profile_add_sample(p, &a, 1, waited, tags, 2), 0);
	assert_int_equal(profile_add_sample(p, &a, 1, waited_again, fence, 2), 0);
	assert_int_equal(profile_add_sample(p, &b, 1, spun, tags, 2), 0);
	c = profile_location(p, main_binary, 0x1030, &reset, 1);
	assert_int_equal(profile_add_sample(p, &c, 1, worked, tags, 2), 0);
	assert_int_equal(profile_add_note(p, "stallprof.ledger tag=step ns=1"), 0);
	assert_int_equal(profile_add_comment(p, "somebody's"), 0);
	return p;
}

static void check_only_sample(const struct profile *p, const char *function, size_t n_values, int64_t last)
{
	struct profile_location_view location;
	struct profile_sample_view sample;

	assert_int_equal(profile_n_samples(p), 1);
	assert_true(profile_get_sample(p, 0, &sample));
	assert_int_equal(profile_n_types(p), n_values);
	assert_int_equal(sample.values[n_values - 1], last);
	assert_int_equal(sample.n_labels, 1);
	assert_true(profile_get_location(p, sample.location_ids[0], &location));
	assert_string_equal(location.frames[0].function, function);
	assert_string_equal(profile_get_mapping(p, 1)->file, "/bin/train");
}

static void test_series__each_has_its_types_and_samples(void **state)
{
	struct profile *from = combined(), *block, *cpu, *recovery;

	(void)state;
	assert_int_equal(series_table_len, 3);
	assert_int_equal(series_extract(from, &series_table[0], 1, NULL, ROOM, &block), 0);
	assert_int_equal(series_extract(from, &series_table[1], 10101010, NULL, ROOM, &cpu), 0);
	check_only_sample(block, "wait", 2, 500);
	check_only_sample(cpu, "spin", 1, 70);
	assert_int_equal(series_extract(from, &series_table[2], 1, NULL, ROOM, &recovery), 0);
	check_only_sample(recovery, "reset", 1, 9);
	profile_free(recovery);
	assert_string_equal(profile_default_type(block), "delay");
	assert_string_equal(profile_period_type(cpu).type, "cpu");
	assert_int_equal(profile_period(cpu), 10101010);
	assert_int_equal(profile_time_ns(cpu), 1000);
	assert_int_equal(profile_duration_ns(block), 10);
	assert_int_equal(profile_n_comments(block), 1);
	assert_string_equal(profile_comment(block, 0), "somebody's");
	assert_int_equal(profile_n_notes(block), 0);
	profile_free(block);
	profile_free(cpu);
	profile_free(from);
}

static void test_series__nothing_to_say_is_no_profile(void **state)
{
	const struct profile_value_type types[] = { { "contentions", "count" },
		                                    { "delay", "nanoseconds" },
		                                    { "cpu", "nanoseconds" } };
	struct profile *from = profile_new(types, 3, types[0], 1, ROOM), *out;

	(void)state;
	assert_int_equal(series_extract(from, &series_table[0], 1, NULL, ROOM, &out), 0);
	assert_null(out);
	profile_free(from);
}

static void test_series__foreign_profile(void **state)
{
	const struct profile_value_type types[] = { { "alloc_space", "bytes" } };
	struct profile *from = profile_new(types, 1, types[0], 1, ROOM), *out;

	(void)state;
	assert_int_equal(series_extract(from, &series_table[0], 1, NULL, ROOM, &out), -ENOENT);
	assert_null(out);
	profile_free(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_series__each_has_its_types_and_samples),
		cmocka_unit_test(test_series__nothing_to_say_is_no_profile),
		cmocka_unit_test(test_series__foreign_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
