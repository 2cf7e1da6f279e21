/* Tests of profile_merge() and profile_split(). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pprof/profile.h"
#include "tests/unit/pprof_listing.h"

static const struct profile_value_type TYPES[] = { { "contentions", "count" }, { "delay", "nanoseconds" } };
static const size_t MIB = 1 << 20;

static struct profile *new_profile(size_t max_bytes)
{
	struct profile *p = profile_new(TYPES, 2, TYPES[1], 1, max_bytes);

	assert_non_null(p);
	return p;
}

/* One sample of one frame `function`, with the label tag=<tag>. */
static void add(struct profile *p, int64_t mapping, uint64_t address, const char *function, const char *tag,
                int64_t delay)
{
	struct profile_frame frame = { .function = function, .file = "a.c", .line = 1 };
	struct profile_label label = { .key = "tag", .str = tag };
	int64_t id = profile_location(p, mapping, address, &frame, 1), values[] = { 1, delay };

	assert_true(id > 0);
	assert_int_equal(profile_add_sample(p, &id, 1, values, &label, 1), 0);
}

static void assert_listing(const struct profile *p, const char *want)
{
	char *got = pprof_listing(p);

	assert_string_equal(got, want);
	free(got);
}

static void merge(struct profile *into, const struct profile *from)
{
	char err[256] = "";

	if (profile_merge(into, from, err, sizeof(err)))
		fail_msg("merging failed: %s", err);
}

#define TYPES_LISTED "type\tcontentions/count\ntype\tdelay/nanoseconds\n"

static void test_pprof_merge__adds_samples_and_headers(void **state)
{
	struct profile *a = new_profile(MIB), *b = new_profile(MIB);

	(void)state;
	profile_set_time(a, 2000, 10);
	profile_set_time(b, 1000, 15);
	profile_add_comment(a, "same");
	profile_add_comment(a, "only a");
	profile_add_comment(b, "only b");
	profile_add_comment(b, "same");
	profile_add_note(a, "note");
	profile_add_note(b, "note");
	profile_add_comment(b, "only b");
	profile_set_default_type(b, "contentions");
	add(a, profile_mapping(a, 0x1000, 0x2000, 0, "/app", "id", true, true), 0x1001, "f", "x", 5);
	add(b, profile_mapping(b, 0x1000, 0x2000, 0, "/app", "id", true, true), 0x1001, "f", "x", 6);
	add(b, 0, 0x1001, "f", "x", 7);
	add(b, 1, 0x1002, "g", "y", 8);
	merge(a, b);
	assert_listing(a, TYPES_LISTED "default\tcontentions\n"
	                               "period\tdelay/nanoseconds\t1\n"
	                               "time\t1000\t25\n"
	                               "comment\tsame\n"
	                               "comment\tonly a\n"
	                               "comment\tonly b\n"
	                               "comment\tonly b\n"
	                               "note\tnote\n"
	                               "note\tnote\n"
	                               "mapping\t0x1000/0x2000/0x0\t/app\tid\t[FN][FL][LN][IN]\n"
	                               "sample\t1 7\t0x1001@ f() a.c:1\ttag=x\n"
	                               "sample\t1 8\t0x1002@/app g() a.c:1\ttag=y\n"
	                               "sample\t2 11\t0x1001@/app f() a.c:1\ttag=x\n");
	profile_free(a);
	profile_free(b);
}

static void test_pprof_merge__without_a_time_takes_the_others(void **state)
{
	struct profile *a = new_profile(MIB), *b = new_profile(MIB);

	(void)state;
	profile_set_time(b, 1000, 15);
	merge(a, b);
	assert_int_equal(profile_time_ns(a), 1000);
	merge(b, a);
	assert_int_equal(profile_time_ns(b), 1000);
	assert_int_equal(profile_duration_ns(b), 30);
	profile_free(a);
	a = profile_new(TYPES, 2, TYPES[1], 10, MIB);
	merge(b, a);
	assert_int_equal(profile_period(b), 10);
	profile_free(a);
	profile_free(b);
}

/* Size in pages, offset and build-id, or the file where there is none; addresses move along. */
static void test_pprof_merge__mappings_by_what_they_map(void **state)
{
	struct profile *a = new_profile(MIB), *b = new_profile(MIB);

	(void)state;
	add(a, profile_mapping(a, 0x10000, 0x12000, 0, "/app", "id", true, true), 0x10010, "moved", "x", 1);
	add(a, profile_mapping(a, 0x20000, 0x22000, 0, "/lib", NULL, true, true), 0x20010, "by file", "x", 1);
	/* Elsewhere, a byte shorter, under another name. */
	add(b, profile_mapping(b, 0x50000, 0x51fff, 0, "/copy", "id", true, true), 0x50010, "moved", "x", 2);
	add(b, profile_mapping(b, 0x60000, 0x62000, 0, "/lib", NULL, true, true), 0x60010, "by file", "x", 2);
	add(b, profile_mapping(b, 0x60000, 0x62000, 0x1000, "/lib", NULL, true, true), 0x60010, "offset", "x",
	    2);
	add(b, profile_mapping(b, 0x60000, 0x64000, 0, "/lib", NULL, true, true), 0x60010, "size", "x", 2);
	add(b, profile_mapping(b, 0x60000, 0x62000, 0, "/lib", "other", true, true), 0x60010, "id", "x", 2);
	merge(a, b);
	assert_listing(a, TYPES_LISTED "default\tdelay\n"
	                               "period\tdelay/nanoseconds\t1\n"
	                               "time\t0\t0\n"
	                               "mapping\t0x10000/0x12000/0x0\t/app\tid\t[FN][FL][LN][IN]\n"
	                               "mapping\t0x20000/0x22000/0x0\t/lib\t\t[FN][FL][LN][IN]\n"
	                               "mapping\t0x60000/0x62000/0x1000\t/lib\t\t[FN][FL][LN][IN]\n"
	                               "mapping\t0x60000/0x64000/0x0\t/lib\t\t[FN][FL][LN][IN]\n"
	                               "mapping\t0x60000/0x62000/0x0\t/lib\tother\t[FN][FL][LN][IN]\n"
	                               "sample\t1 2\t0x60010@/lib id() a.c:1\ttag=x\n"
	                               "sample\t1 2\t0x60010@/lib offset() a.c:1\ttag=x\n"
	                               "sample\t1 2\t0x60010@/lib size() a.c:1\ttag=x\n"
	                               "sample\t2 3\t0x10010@/app moved() a.c:1\ttag=x\n"
	                               "sample\t2 3\t0x20010@/lib by file() a.c:1\ttag=x\n");
	profile_free(a);
	profile_free(b);
}

static void test_pprof_merge__unequal_types_are_refused(void **state)
{
	struct profile_value_type cpu = { "cpu", "nanoseconds" }, mixed[] = { TYPES[0], cpu };
	struct profile *a = new_profile(MIB), *fewer = profile_new(TYPES, 1, TYPES[1], 1, MIB),
	               *other = profile_new(mixed, 2, TYPES[1], 1, MIB),
	               *period = profile_new(TYPES, 2, cpu, 1, MIB);
	char err[256];

	(void)state;
	assert_int_equal(profile_merge(a, fewer, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "the profiles have 2 and 1 sample types");
	assert_int_equal(profile_merge(a, other, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "the profiles' sample types differ: delay/nanoseconds and cpu/nanoseconds");
	assert_int_equal(profile_merge(a, period, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "the profiles' period types differ: delay/nanoseconds and cpu/nanoseconds");
	assert_int_equal(profile_merge(a, a, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "a profile can't be merged into itself");
	assert_int_equal(profile_merge(a, fewer, NULL, 0), -EINVAL);
	profile_free(a);
	profile_free(fewer);
	profile_free(other);
	profile_free(period);
}

static void test_pprof_merge__says_when_it_is_too_much(void **state)
{
	struct profile *small = new_profile(32 << 10), *large = new_profile(MIB), *more = new_profile(MIB);
	char err[256] = "";

	(void)state;
	for (uint64_t i = 1; i < 500; i++)
		add(large, 0, i, "f", "x", 1);
	assert_int_equal(profile_merge(small, large, err, sizeof(err)), -ENOSPC);
	assert_string_equal(err, "the merged profile can't be held: it outgrows its bound on memory");
	add(more, 0, 1, "f", "x", INT64_MAX);
	assert_int_equal(profile_merge(more, large, err, sizeof(err)), -EOVERFLOW);
	assert_string_equal(err, "the merged profile can't be held: a sum outgrows 64 bits");
	profile_free(small);
	profile_free(large);
	profile_free(more);
}

/* Many stacks that share little, so that each sample brings texts and locations along. */
static struct profile *big_profile(int n)
{
	struct profile *p = new_profile(64 * MIB);
	char name[64];

	profile_mapping(p, 0x1000, 0x2000, 0, "/app", NULL, true, true);
	profile_add_comment(p, "whole");
	profile_set_time(p, 1000, 0);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "function_of_a_long_name_%d", i);
		add(p, i % 2, (uint64_t)i + 1, name, i % 3 ? "x" : "y", i % 10 ? i + 1 : 0);
	}
	return p;
}

static void assert_parts_make_whole(const struct profile *whole, struct profile **parts, size_t n,
                                    size_t max_samples, size_t max_bytes)
{
	char *want = pprof_listing(whole), *got;

	for (size_t i = 0; i < n; i++) {
		void *buf;
		size_t len;

		assert_in_range(profile_n_samples(parts[i]), 0, max_samples);
		assert_int_equal(profile_encode(parts[i], 0, false, &buf, &len), 0);
		assert_in_range(len, 1, max_bytes);
		assert_string_equal(profile_get_mapping(parts[i], 1)->file, "/app");
		free(buf);
		if (i)
			merge(parts[0], parts[i]);
	}
	got = pprof_listing(parts[0]);
	assert_string_equal(got, want);
	free(got);
	free(want);
	profile_parts_free(parts, n);
}

static void test_pprof_merge__split_leaves_notes_out(void **state)
{
	struct profile *p = big_profile(10), **parts;
	size_t n;

	(void)state;
	profile_add_note(p, "n");
	assert_int_equal(profile_split(p, 0, 5, MIB, &parts, &n), 0);
	assert_true(n > 1);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(profile_n_notes(parts[i]), 0);
	profile_parts_free(parts, n);
	profile_free(p);
}

static void test_pprof_merge__split_by_samples(void **state)
{
	struct profile *p = big_profile(1000), **parts;
	size_t n;

	(void)state;
	assert_int_equal(profile_split(p, 0, 300, 64 * MIB, &parts, &n), 0);
	assert_int_equal(n, 4);
	assert_parts_make_whole(p, parts, n, 300, 64 * MIB);
	assert_int_equal(profile_split(p, 0, 1000, 64 * MIB, &parts, &n), 0);
	assert_int_equal(n, 1);
	assert_parts_make_whole(p, parts, n, 1000, 64 * MIB);
	profile_free(p);
}

static void test_pprof_merge__split_by_bytes(void **state)
{
	struct profile *p = big_profile(1000), **parts;
	size_t n, len;
	void *buf;

	(void)state;
	assert_int_equal(profile_encode(p, 0, false, &buf, &len), 0);
	free(buf);
	assert_int_equal(profile_split(p, 0, 16000, len / 5, &parts, &n), 0);
	assert_in_range(n, 6, 12);
	assert_parts_make_whole(p, parts, n, 16000, len / 5);
	assert_int_equal(profile_split(p, 0, 16000, len, &parts, &n), 0);
	assert_in_range(n, 1, 2);
	assert_parts_make_whole(p, parts, n, 16000, len);
	profile_free(p);
}

/* As many parts by bytes as there are samples, and no empty one beside them. */
static void test_pprof_merge__split_to_single_samples(void **state)
{
	struct profile *p = new_profile(MIB), **parts;
	char name[1001] = "";
	size_t n;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	for (int i = 0; i < 2; i++) {
		name[999] = (char)('0' + i);
		add(p, 0, 1, name, "x", 1);
	}
	assert_int_equal(profile_split(p, 0, 16000, 1200, &parts, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(profile_n_samples(parts[0]), 1);
	assert_int_equal(profile_n_samples(parts[1]), 1);
	profile_parts_free(parts, n);
	profile_free(p);
}

static void test_pprof_merge__split_of_some_types(void **state)
{
	struct profile *p = big_profile(100), **parts;
	int64_t sum = 0;
	size_t n;

	(void)state;
	assert_int_equal(profile_split(p, 2, 40, MIB, &parts, &n), 0);
	assert_int_equal(n, 3);
	for (size_t i = 0; i < n; i++) {
		struct profile_sample_view s;

		assert_int_equal(profile_n_types(parts[i]), 1);
		assert_string_equal(profile_type(parts[i], 0).type, "delay");
		assert_int_equal(profile_n_samples(parts[i]), 30);
		for (size_t k = 0; profile_get_sample(parts[i], k, &s); k++)
			sum += s.values[0];
	}
	/* 1 + 2 + ... + 100 without every tenth from 1. */
	assert_int_equal(sum, 5050 - 460);
	profile_parts_free(parts, n);
	profile_free(p);
}

static void test_pprof_merge__split_gives_at_least_one_part(void **state)
{
	struct profile *p = new_profile(MIB), **parts;
	size_t n;

	(void)state;
	assert_int_equal(profile_split(p, 0, 10, MIB, &parts, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(profile_n_samples(parts[0]), 0);
	profile_parts_free(parts, n);
	profile_free(p);
}

static void test_pprof_merge__split_refuses_what_cannot_fit(void **state)
{
	struct profile *p = big_profile(10), **parts;
	size_t n;

	(void)state;
	assert_int_equal(profile_split(p, 0, 10, 60, &parts, &n), -EFBIG);
	assert_int_equal(profile_split(p, 0, 0, MIB, &parts, &n), -EINVAL);
	assert_int_equal(profile_split(p, 0, 10, 0, &parts, &n), -EINVAL);
	assert_int_equal(profile_split(p, 4, 10, MIB, &parts, &n), -EINVAL);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pprof_merge__adds_samples_and_headers),
		cmocka_unit_test(test_pprof_merge__without_a_time_takes_the_others),
		cmocka_unit_test(test_pprof_merge__mappings_by_what_they_map),
		cmocka_unit_test(test_pprof_merge__unequal_types_are_refused),
		cmocka_unit_test(test_pprof_merge__says_when_it_is_too_much),
		cmocka_unit_test(test_pprof_merge__split_leaves_notes_out),
		cmocka_unit_test(test_pprof_merge__split_by_samples),
		cmocka_unit_test(test_pprof_merge__split_by_bytes),
		cmocka_unit_test(test_pprof_merge__split_to_single_samples),
		cmocka_unit_test(test_pprof_merge__split_of_some_types),
		cmocka_unit_test(test_pprof_merge__split_gives_at_least_one_part),
		cmocka_unit_test(test_pprof_merge__split_refuses_what_cannot_fit),
	};

	return cmocka_run_group_tests_name("pprof_merge", tests, NULL, NULL);
}
