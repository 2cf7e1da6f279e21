/* Tests of profile.h: building a profile, interning, and bounds. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "pprof/profile.h"

static const struct profile_value_type TYPES[] = { { "contentions", "count" }, { "delay", "nanoseconds" } };
static const size_t MIB = 1 << 20;

static struct profile *new_profile(size_t max_bytes)
{
	struct profile *p = profile_new(TYPES, 2, TYPES[1], 1, max_bytes);

	assert_non_null(p);
	return p;
}

static int64_t location(struct profile *p, const char *function, uint64_t address)
{
	struct profile_frame frame = { .function = function, .file = "a.c", .line = 7 };

	return profile_location(p, 0, address, &frame, 1);
}

static void test_pprof_profile__header_reads_back(void **state)
{
	struct profile *p = new_profile(MIB);

	(void)state;
	profile_set_time(p, 1700000000000000000, 15000000000);
	assert_int_equal(profile_add_comment(p, "one"), 0);
	assert_int_equal(profile_add_comment(p, "two"), 0);
	assert_int_equal(profile_add_comment(p, "one"), 0);
	assert_int_equal(profile_add_note(p, "1"), 0);
	assert_int_equal(profile_add_note(p, ""), 0);
	assert_int_equal(profile_add_note(p, "1"), 0);
	assert_int_equal(profile_n_types(p), 2);
	assert_string_equal(profile_type(p, 0).type, "contentions");
	assert_string_equal(profile_type(p, 1).unit, "nanoseconds");
	assert_int_equal(profile_find_type(p, "delay"), 1);
	assert_int_equal(profile_find_type(p, "cpu"), -ENOENT);
	assert_string_equal(profile_period_type(p).type, "delay");
	assert_int_equal(profile_period(p), 1);
	assert_true(profile_time_ns(p) == 1700000000000000000);
	assert_true(profile_duration_ns(p) == 15000000000);
	assert_int_equal(profile_n_comments(p), 3);
	assert_string_equal(profile_comment(p, 1), "two");
	assert_string_equal(profile_comment(p, 2), "one");
	assert_int_equal(profile_n_notes(p), 3);
	assert_string_equal(profile_note(p, 0), "1");
	assert_string_equal(profile_note(p, 1), "");
	assert_string_equal(profile_note(p, 2), "1");
	profile_free(p);
}

static void test_pprof_profile__default_type_is_the_last_unless_set(void **state)
{
	struct profile *p = new_profile(MIB);

	(void)state;
	assert_string_equal(profile_default_type(p), "delay");
	assert_int_equal(profile_set_default_type(p, "cpu"), -EINVAL);
	assert_string_equal(profile_default_type(p), "delay");
	assert_int_equal(profile_set_default_type(p, "contentions"), 0);
	assert_string_equal(profile_default_type(p), "contentions");
	profile_free(p);
}

static void test_pprof_profile__needs_types_with_units(void **state)
{
	struct profile_value_type none = { NULL, NULL }, bare = { "delay", NULL }, empty = { "", "count" };
	struct profile_value_type many[33];
	struct profile *p;

	(void)state;
	for (size_t i = 0; i < 33; i++)
		many[i] = TYPES[0];
	errno = 0;
	assert_null(profile_new(TYPES, 0, TYPES[0], 1, MIB));
	assert_int_equal(errno, EINVAL);
	assert_null(profile_new(&bare, 1, TYPES[0], 1, MIB));
	assert_null(profile_new(&empty, 1, TYPES[0], 1, MIB));
	assert_null(profile_new(many, 33, TYPES[0], 1, MIB));
	p = profile_new(many, 32, none, 0, MIB);
	assert_non_null(p);
	assert_string_equal(profile_period_type(p).type, "");
	profile_free(p);
}

static void test_pprof_profile__mappings_are_one_when_equal(void **state)
{
	struct profile *p = new_profile(MIB);
	const struct profile_mapping_view *m;

	(void)state;
	assert_int_equal(profile_mapping(p, 0x1000, 0x2000, 0, "/bin/app", "abcd", true, true), 1);
	assert_int_equal(profile_mapping(p, 0x1000, 0x2000, 0, "/lib/l.so", NULL, true, false), 2);
	assert_int_equal(profile_mapping(p, 0x1000, 0x2000, 0, "/bin/app", "abcd", true, true), 1);
	assert_int_equal(profile_mapping(p, 0x1000, 0x2000, 0, "/bin/app", "abcd", false, true), 3);
	assert_int_equal(profile_n_mappings(p), 3);
	m = profile_get_mapping(p, 2);
	assert_string_equal(m->file, "/lib/l.so");
	assert_null(m->build_id);
	assert_true(m->has_functions);
	assert_false(m->has_filenames || m->has_lines || m->has_inlines);
	assert_null(profile_get_mapping(p, 0));
	assert_null(profile_get_mapping(p, 4));
	profile_free(p);
}

static void test_pprof_profile__locations_are_one_when_equal(void **state)
{
	struct profile *p = new_profile(MIB);
	struct profile_frame frames[] = { { .function = "inlined", .file = "a.c", .line = 3 },
		                          { .function = "outer", .system_name = "_Z5outer", .line = 9 } };
	int64_t m = profile_mapping(p, 0x1000, 0x2000, 0, "/bin/app", NULL, true, true);
	int64_t id = profile_location(p, m, 0x1234, frames, 2);
	struct profile_location_view v;

	(void)state;
	assert_int_equal(id, 1);
	assert_int_equal(profile_location(p, m, 0x1234, frames, 2), id);
	assert_int_equal(profile_location(p, 0, 0x1234, frames, 2), 2);
	assert_int_equal(profile_location(p, m, 0x1235, frames, 2), 3);
	assert_int_equal(profile_location(p, m, 0x1234, frames, 1), 4);
	frames[0].line = 4;
	assert_int_equal(profile_location(p, m, 0x1234, frames, 2), 5);
	assert_int_equal(profile_n_locations(p), 5);
	assert_true(profile_get_location(p, id, &v));
	assert_int_equal(v.mapping_id, m);
	assert_int_equal(v.address, 0x1234);
	assert_int_equal(v.n_frames, 2);
	assert_string_equal(v.frames[0].function, "inlined");
	assert_int_equal(v.frames[0].line, 3);
	assert_null(v.frames[0].system_name);
	assert_string_equal(v.frames[1].system_name, "_Z5outer");
	assert_null(v.frames[1].file);
	assert_false(profile_get_location(p, 0, &v));
	assert_false(profile_get_location(p, 6, &v));
	profile_free(p);
}

static void test_pprof_profile__locations_that_say_nothing_are_refused(void **state)
{
	struct profile *p = new_profile(MIB);
	struct profile_frame unnamed = { .function = "" }, none = { .file = "a.c" };

	(void)state;
	assert_int_equal(profile_location(p, 0, 0, NULL, 0), -EINVAL);
	assert_int_equal(profile_location(p, 0, 0x10, &unnamed, 1), -EINVAL);
	assert_int_equal(profile_location(p, 0, 0x10, &none, 1), -EINVAL);
	assert_int_equal(profile_location(p, 1, 0x10, NULL, 0), -EINVAL);
	assert_int_equal(profile_location(p, -1, 0x10, NULL, 0), -EINVAL);
	assert_int_equal(profile_location(p, 0, 0x10, NULL, 0), 1);
	assert_int_equal(location(p, "[unwind truncated]", 0), 2);
	profile_free(p);
}

static void test_pprof_profile__equal_samples_add_up(void **state)
{
	struct profile *p = new_profile(MIB);
	struct profile_label ab[] = { { .key = "a", .str = "1" }, { .key = "b", .num = 2, .unit = "bytes" } };
	struct profile_label ba[] = { ab[1], ab[0] };
	struct profile_label other[] = { ab[0], { .key = "b", .num = 2, .unit = "pages" } };
	int64_t stack[] = { location(p, "leaf", 1), location(p, "root", 2) };
	int64_t turned[] = { stack[1], stack[0] };
	int64_t values[] = { 1, 100 };
	struct profile_sample_view v;

	(void)state;
	assert_int_equal(profile_add_sample(p, stack, 2, values, ab, 2), 0);
	assert_int_equal(profile_add_sample(p, stack, 2, values, ba, 2), 0);
	assert_int_equal(profile_add_sample(p, turned, 2, values, ab, 2), 0);
	assert_int_equal(profile_add_sample(p, stack, 1, values, ab, 2), 0);
	assert_int_equal(profile_add_sample(p, stack, 2, values, ab, 1), 0);
	assert_int_equal(profile_add_sample(p, stack, 2, values, other, 2), 0);
	assert_int_equal(profile_add_sample(p, stack, 2, values, NULL, 0), 0);
	assert_int_equal(profile_n_samples(p), 6);
	assert_true(profile_get_sample(p, 0, &v));
	assert_int_equal(v.values[0], 2);
	assert_int_equal(v.values[1], 200);
	assert_int_equal(v.n_locations, 2);
	assert_int_equal(v.location_ids[0], stack[0]);
	assert_int_equal(v.n_labels, 2);
	assert_string_equal(v.labels[0].key, "a");
	assert_string_equal(v.labels[0].str, "1");
	assert_string_equal(v.labels[1].key, "b");
	assert_null(v.labels[1].str);
	assert_int_equal(v.labels[1].num, 2);
	assert_string_equal(v.labels[1].unit, "bytes");
	assert_true(profile_get_sample(p, 5, &v));
	assert_int_equal(v.values[1], 100);
	assert_false(profile_get_sample(p, 6, &v));
	profile_free(p);
}

/* Several values of one key are allowed, and their order says nothing. */
static void test_pprof_profile__equal_samples_add_up_by_all_of_a_label(void **state)
{
	struct profile *p = new_profile(MIB);
	struct profile_label labels[] = { { .key = "k", .str = "b" },
		                          { .key = "k", .num = 2, .unit = "pages" },
		                          { .key = "k", .str = "a" },
		                          { .key = "k", .num = 2, .unit = "bytes" },
		                          { .key = "k", .num = -1, .unit = "bytes" } };
	int64_t id = location(p, "f", 1), values[] = { 1, 1 };
	struct profile_sample_view v;

	(void)state;
	for (int turn = 0; turn < 5; turn++) {
		struct profile_label first = labels[0];

		assert_int_equal(profile_add_sample(p, &id, 1, values, labels, 5), 0);
		memmove(labels, labels + 1, 4 * sizeof(*labels));
		labels[4] = first;
	}
	assert_int_equal(profile_n_samples(p), 1);
	assert_true(profile_get_sample(p, 0, &v));
	assert_int_equal(v.values[0], 5);
	assert_int_equal(v.labels[0].num, -1);
	assert_string_equal(v.labels[1].unit, "bytes");
	assert_string_equal(v.labels[2].unit, "pages");
	assert_string_equal(v.labels[3].str, "a");
	assert_string_equal(v.labels[4].str, "b");
	profile_free(p);
}

static void test_pprof_profile__broken_samples_are_refused(void **state)
{
	struct profile *p = new_profile(MIB);
	int64_t good = location(p, "f", 1), zero = 0, unknown = 2, negative = -1, values[] = { 1, 1 };
	struct profile_label no_key = { .str = "x" }, empty_key = { .key = "", .str = "x" };
	struct profile_label no_unit = { .key = "bytes", .num = 4 };

	(void)state;
	assert_int_equal(profile_add_sample(p, &good, 0, values, NULL, 0), -EINVAL);
	assert_int_equal(profile_add_sample(p, &zero, 1, values, NULL, 0), -EINVAL);
	assert_int_equal(profile_add_sample(p, &unknown, 1, values, NULL, 0), -EINVAL);
	assert_int_equal(profile_add_sample(p, &negative, 1, values, NULL, 0), -EINVAL);
	assert_int_equal(profile_add_sample(p, &good, 1, values, &no_key, 1), -EINVAL);
	assert_int_equal(profile_add_sample(p, &good, 1, values, &empty_key, 1), -EINVAL);
	assert_int_equal(profile_add_sample(p, &good, 1, values, &no_unit, 1), -EINVAL);
	assert_int_equal(profile_n_samples(p), 0);
	profile_free(p);
}

static void test_pprof_profile__empty_label_texts_are_left_out(void **state)
{
	struct profile *p = new_profile(MIB);
	struct profile_label labels[] = { { .key = "a", .str = "" }, { .key = "b", .str = "2" } };
	int64_t id = location(p, "f", 1), values[] = { 1, 1 };
	struct profile_sample_view v;

	(void)state;
	assert_int_equal(profile_add_sample(p, &id, 1, values, labels, 2), 0);
	assert_int_equal(profile_add_sample(p, &id, 1, values, labels + 1, 1), 0);
	assert_int_equal(profile_n_samples(p), 1);
	assert_true(profile_get_sample(p, 0, &v));
	assert_int_equal(v.n_labels, 1);
	assert_string_equal(v.labels[0].key, "b");
	profile_free(p);
}

static void test_pprof_profile__sums_do_not_wrap(void **state)
{
	struct profile *p = new_profile(MIB);
	int64_t id = location(p, "f", 1), big[] = { 1, INT64_MAX }, one[] = { 1, 1 };
	struct profile_sample_view v;

	(void)state;
	assert_int_equal(profile_add_sample(p, &id, 1, big, NULL, 0), 0);
	assert_int_equal(profile_add_sample(p, &id, 1, one, NULL, 0), -EOVERFLOW);
	assert_true(profile_get_sample(p, 0, &v));
	assert_int_equal(v.values[0], 1);
	assert_true(v.values[1] == INT64_MAX);
	profile_free(p);
}

static void test_pprof_profile__stays_within_its_bound(void **state)
{
	struct profile *p = new_profile(64 << 10);
	int64_t first = location(p, "first", 1), values[] = { 1, 10 }, id = 0;
	struct profile_sample_view v;
	int ret = 0, added = 1;

	(void)state;
	assert_int_equal(profile_add_sample(p, &first, 1, values, NULL, 0), 0);
	for (int i = 2; !ret && i < 100000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "function_%d", i);
		id = location(p, name, (uint64_t)i);
		ret = id < 0 ? (int)id : profile_add_sample(p, &id, 1, values, NULL, 0);
		added += !ret;
	}
	assert_int_equal(ret, -ENOSPC);
	assert_in_range(added, 50, 1000);
	assert_int_equal(profile_n_samples(p), added);
	/* What is in it can still be added to. */
	assert_int_equal(location(p, "first", 1), first);
	assert_int_equal(profile_add_sample(p, &first, 1, values, NULL, 0), 0);
	assert_true(profile_get_sample(p, 0, &v));
	assert_int_equal(v.values[1], 20);
	profile_free(p);
	errno = 0;
	assert_null(profile_new(TYPES, 2, TYPES[1], 1, 100));
	assert_int_equal(errno, ENOSPC);
}

/* Wherever the bound falls, in the middle of whatever it is, what is there can be added to. */
static void test_pprof_profile__any_bound_leaves_it_usable(void **state)
{
	(void)state;
	for (size_t bound = 2000; bound < 8000; bound += 8) {
		struct profile *p = new_profile(bound);
		int64_t first = location(p, "first", 1), values[] = { 1, 10 };
		int ret = profile_add_sample(p, &first, 1, values, NULL, 0), n = 0;
		struct profile_sample_view v;

		assert_int_equal(ret, 0);
		for (; !ret; n++) {
			struct profile_label label = { .key = "n", .num = n, .unit = "count" };

			ret = profile_add_sample(p, &first, 1, values, &label, 1);
		}
		assert_int_equal(ret, -ENOSPC);
		assert_int_equal(profile_n_samples(p), n);
		assert_int_equal(profile_add_sample(p, &first, 1, values, NULL, 0), 0);
		assert_true(profile_get_sample(p, 0, &v));
		assert_int_equal(v.values[1], 20);
		profile_free(p);
	}
}

/* What is reserved is as if it were used, until it is unreserved. */
static void test_pprof_profile__what_is_reserved_is_kept(void **state)
{
	struct profile *p = new_profile(8000);
	size_t room = 8000 - profile_bytes(p);

	(void)state;
	assert_int_equal(profile_reserve(p, room + 1), -ENOSPC);
	assert_int_equal(profile_reserve(p, room), 0);
	assert_int_equal(profile_bytes(p), 8000);
	assert_int_equal(profile_add_note(p, "late"), -ENOSPC);
	profile_unreserve(p, room);
	assert_int_equal(profile_bytes(p), 8000 - room);
	assert_int_equal(profile_add_note(p, "late"), 0);
	profile_free(p);
}

static void test_pprof_profile__holds_many_samples(void **state)
{
	enum { N = 100000 };
	struct profile *p = new_profile(256 * MIB);
	int64_t values[] = { 1, 3 }, ids[2], sum = 0;
	struct profile_sample_view v;

	(void)state;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < N; i++) {
			ids[0] = location(p, "f", (uint64_t)i % 1000 + 1);
			ids[1] = location(p, "g", (uint64_t)i / 1000 + 1);
			assert_int_equal(profile_add_sample(p, ids, 2, values, NULL, 0), 0);
		}
	assert_int_equal(profile_n_samples(p), N);
	for (size_t i = 0; profile_get_sample(p, i, &v); i++)
		sum += v.values[1];
	assert_int_equal(sum, 2 * 3 * N);
	profile_free(p);
}

static void test_pprof_profile__free_takes_null(void **state)
{
	(void)state;
	profile_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pprof_profile__header_reads_back),
		cmocka_unit_test(test_pprof_profile__default_type_is_the_last_unless_set),
		cmocka_unit_test(test_pprof_profile__needs_types_with_units),
		cmocka_unit_test(test_pprof_profile__mappings_are_one_when_equal),
		cmocka_unit_test(test_pprof_profile__locations_are_one_when_equal),
		cmocka_unit_test(test_pprof_profile__locations_that_say_nothing_are_refused),
		cmocka_unit_test(test_pprof_profile__equal_samples_add_up),
		cmocka_unit_test(test_pprof_profile__equal_samples_add_up_by_all_of_a_label),
		cmocka_unit_test(test_pprof_profile__broken_samples_are_refused),
		cmocka_unit_test(test_pprof_profile__empty_label_texts_are_left_out),
		cmocka_unit_test(test_pprof_profile__sums_do_not_wrap),
		cmocka_unit_test(test_pprof_profile__stays_within_its_bound),
		cmocka_unit_test(test_pprof_profile__any_bound_leaves_it_usable),
		cmocka_unit_test(test_pprof_profile__what_is_reserved_is_kept),
		cmocka_unit_test(test_pprof_profile__holds_many_samples),
		cmocka_unit_test(test_pprof_profile__free_takes_null),
	};

	return cmocka_run_group_tests_name("pprof_profile", tests, NULL, NULL);
}
