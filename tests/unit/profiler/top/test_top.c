/* Tests of `stallprof top`: its tables by function, line, stack, label and tag. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/top/top.h"
#include "profiler/loaded/loaded_classes.h"
#include "profiler/top/top_json.h"
#include "profiler/top/top_table.h"
#include "tests/unit/loaded_fixture.h"

struct expected {
	const char *name;
	int64_t flat, cum;
};

static void assert_sorted(const struct fixture *fixture, struct loaded_filter filter, enum top_by by,
                          size_t type, bool by_cum, const struct expected *rows, size_t count, int64_t total)
{
	struct top_table table;

	assert_int_equal(top_table_build(&table, &fixture->input, fixture->tags, &filter, by, type, by_cum),
	                 0);
	assert_int_equal(table.count, count);
	assert_int_equal(table.total, total);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(table.entries[i].name, rows[i].name);
		assert_int_equal(table.entries[i].flat, rows[i].flat);
		assert_int_equal(table.entries[i].cum, rows[i].cum);
	}
	top_table_free(&table);
}

static void assert_table(const struct fixture *fixture, struct loaded_filter filter, enum top_by by,
                         size_t type, const struct expected *rows, size_t count, int64_t total)
{
	assert_sorted(fixture, filter, by, type, false, rows, count, total);
}

static void test_top__cumulative_first(void **state)
{
	static const struct expected rows[] = { { "main", 0, 70 * MS },
		                                { "io_schedule", 60 * MS, 60 * MS },
		                                { "flush", 10 * MS, 60 * MS },
		                                { "write_shard", 0, 60 * MS } };

	assert_sorted(*state, (struct loaded_filter){ 0 }, TOP_BY_FUNCTION, DELAY, true, rows, COUNT(rows),
	              70 * MS);
}

static void test_top__by_function(void **state)
{
	static const struct expected rows[] = { { "io_schedule", 60 * MS, 60 * MS },
		                                { "flush", 10 * MS, 60 * MS },
		                                { "main", 0, 70 * MS },
		                                { "write_shard", 0, 60 * MS } };
	static const struct expected cpu[] = { { "main", 5 * MS, 5 * MS } };

	assert_table(*state, (struct loaded_filter){ 0 }, TOP_BY_FUNCTION, DELAY, rows, COUNT(rows), 70 * MS);
	assert_table(*state, (struct loaded_filter){ 0 }, TOP_BY_FUNCTION, CPU, cpu, COUNT(cpu), 5 * MS);
}

static void test_top__by_line(void **state)
{
	static const struct expected rows[] = { { "io_schedule /src/out.c:42", 60 * MS, 60 * MS },
		                                { "flush /src/in.c:7", 10 * MS, 60 * MS },
		                                { "main /src/out.c:42", 0, 70 * MS },
		                                { "write_shard /src/out.c:42", 0, 60 * MS } };

	assert_table(*state, (struct loaded_filter){ 0 }, TOP_BY_LINE, DELAY, rows, COUNT(rows), 70 * MS);
}

static void test_top__by_stack(void **state)
{
	static const struct expected rows[] = {
		{ "block_io, vda, checkpoint_write\nio_schedule /src/out.c:42\nflush /src/in.c:7\n"
		  "write_shard /src/out.c:42\nmain /src/out.c:42",
		  50 * MS, 50 * MS },
		{ "block_io, vda, checkpoint_write\nflush /src/in.c:7\nwrite_shard /src/out.c:42\nflush "
		  "/src/in.c:7\n"
		  "write_shard /src/out.c:42\nmain /src/out.c:42",
		  10 * MS, 10 * MS },
		{ "throttle, vdb, step\nio_schedule /src/out.c:42\nmain /src/out.c:42", 10 * MS, 10 * MS }
	};

	assert_table(*state, (struct loaded_filter){ 0 }, TOP_BY_STACK, DELAY, rows, COUNT(rows), 70 * MS);
}

static void test_top__by_label(void **state)
{
	static const struct expected tags[] = { { "checkpoint_write/run1 id 0000000000000001", 60 * MS,
		                                  60 * MS },
		                                { "step/9 id 0000000000000002", 10 * MS, 10 * MS } };
	static const struct expected stalls[] = { { "block_io", 60 * MS, 60 * MS },
		                                  { "throttle", 10 * MS, 10 * MS } };
	static const struct expected devices[] = { { "[no device]", 5 * MS, 5 * MS } };

	assert_table(*state, (struct loaded_filter){ 0 }, TOP_BY_TAG, DELAY, tags, 2, 70 * MS);
	assert_table(*state, (struct loaded_filter){ 0 }, TOP_BY_STALL, DELAY, stalls, 2, 70 * MS);
	assert_table(*state, (struct loaded_filter){ 0 }, TOP_BY_DEVICE, CPU, devices, 1, 5 * MS);
}

static uint64_t wall_of(const struct loaded_classes *classes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < classes->count; i++)
		sum += classes->rows[i].wall_ns;
	return sum;
}

static void test_top__filters(void **state)
{
	static const struct {
		const char *tag, *stall;
		int64_t total;
		uint64_t wall;
	} rows[] = {
		{ NULL, NULL, 70 * MS, 200 * MS },
		{ "step", NULL, 10 * MS, 100 * MS },              /* a class */
		{ "step/9", NULL, 10 * MS, 100 * MS },            /* a full name */
		{ "checkpoint_write/", NULL, 60 * MS, 100 * MS }, /* a path */
		{ "checkpoint", NULL, 0, 0 },                     /* not a whole part of one */
		{ "0000000000000001", NULL, 60 * MS, 100 * MS },  /* an id */
		{ "id=2", NULL, 10 * MS, 100 * MS },
		{ NULL, "throttle", 10 * MS, 200 * MS },
		{ "step", "block_io", 0, 100 * MS },
		{ NULL, "none", 0, 200 * MS },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct loaded_filter filter = { .tag = rows[i].tag, .stall = rows[i].stall };
		struct loaded_classes classes;
		struct top_table table;

		assert_int_equal(top_table_build(&table, &fixture->input, fixture->tags, &filter, TOP_BY_TAG,
		                                 DELAY, false),
		                 0);
		assert_int_equal(loaded_classes_build(&classes, &fixture->input, &filter, LOADED_LEVEL_CLASS),
		                 0);
		if (table.total != rows[i].total || wall_of(&classes) != rows[i].wall)
			fail_msg("row %zu: %ld %lu", i, (long)table.total, (unsigned long)wall_of(&classes));
		top_table_free(&table);
		loaded_classes_free(&classes);
	}
}

/* The same id, say a step's number, under several names: each sample is its own tag's, by name and id. */
static void test_top__tags_that_share_an_id(void **state)
{
	static const struct {
		const char *tag;
		int64_t total;
		uint64_t wall;
	} rows[] = {
		{ "ckpt", 3 * MS, 4 * MS },    { "ckpt/shard1", 2 * MS, 2 * MS },
		{ "train", 50 * MS, 60 * MS }, { "train/step", 50 * MS, 60 * MS },
		{ "load", 0, 7 * MS },         { "0000000000000005", 53 * MS, 71 * MS },
	};
	struct profile *p = profile_new(types, 3, types[CPU], 1, 1 << 20);
	struct loaded_profiles input = { .profile = p, .ledger = ledger_new(0) };
	int64_t stack = profile_location(p, 0, 1, NULL, 0);
	struct loaded_tags *tags;

	(void)state;
	add_row(input.ledger, "ckpt", 5, LEDGER_STALL, "block_io", 2 * MS);
	add_row(input.ledger, "ckpt/shard1", 5, LEDGER_STALL, "block_io", 2 * MS);
	add_row(input.ledger, "train/step", 5, LEDGER_STALL, "block_io", 60 * MS);
	add_row(input.ledger, "load", 5, LEDGER_BLOCKED, "", 7 * MS);
	add_sample(p, &stack, 1, 1 * MS, 0, "ckpt", "0000000000000005", "block_io", "vda");
	add_sample(p, &stack, 1, 2 * MS, 0, "ckpt/shard1", "0000000000000005", "block_io", "vda");
	add_sample(p, &stack, 1, 50 * MS, 0, "train/step", "0000000000000005", "block_io", "vda");
	tags = loaded_tags_new(&input);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct loaded_filter filter = { .tag = rows[i].tag };
		struct loaded_classes classes;
		struct top_table table;

		assert_int_equal(top_table_build(&table, &input, tags, &filter, TOP_BY_TAG, DELAY, false), 0);
		assert_int_equal(loaded_classes_build(&classes, &input, &filter, LOADED_LEVEL_CLASS), 0);
		if (table.total != rows[i].total || wall_of(&classes) != rows[i].wall)
			fail_msg("%s: %ld %lu", rows[i].tag, (long)table.total,
			         (unsigned long)wall_of(&classes));
		top_table_free(&table);
		loaded_classes_free(&classes);
	}
	loaded_tags_free(tags);
	ledger_free(input.ledger);
	profile_free(p);
}

static void test_top__picks_a_type(void **state)
{
	struct fixture *fixture = *state;
	struct profile *cpu_only = profile_new(types, 3, types[CPU], 1, 1 << 20);
	struct loaded_profiles input = { .profile = cpu_only };
	int64_t location = profile_location(cpu_only, 0, 1, NULL, 0);
	const int64_t values[] = { 0, 0, 3 };

	assert_int_equal(loaded_pick_type(&fixture->input, NULL), DELAY);
	assert_int_equal(loaded_pick_type(&fixture->input, "cpu"), CPU);
	assert_int_equal(loaded_pick_type(&fixture->input, "contentions"), CONTENTIONS);
	assert_int_equal(loaded_pick_type(&fixture->input, "wall"), -ENOENT);
	assert_int_equal(loaded_pick_type(&input, NULL), DELAY);
	assert_int_equal(profile_add_sample(cpu_only, &location, 1, values, NULL, 0), 0);
	assert_int_equal(loaded_pick_type(&input, NULL), CPU);
	profile_free(cpu_only);
}

/* --- print ------------------------------------------------------------------------------------------------ */

static void test_top__a_profile_of_others(void **state)
{
	struct profile *p = profile_new(types, 3, types[CPU], 1, 1 << 20);
	const int64_t values[] = { 1, 2, 3 };
	int64_t location = profile_location(p, 0, 0xabc, NULL, 0);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(profile_add_sample(p, &location, 1, values, NULL, 0), 0);
	top_print_summary(out, p, NULL, 0);
	fclose(out);
	assert_non_null(strstr(
	        text, "There is no ledger: scraped profiles have none, nor those of other programs.\n"));
	assert_non_null(strstr(text, "[0xabc]"));
	assert_null(strstr(text, "hooks"));
	free(text);
	profile_free(p);
}

static void test_top__full_disk(void **state)
{
	struct fixture *fixture = *state;
	struct top_table table = { .total = 0 };
	struct top_json what = {
		.input = &fixture->input, .tags = fixture->tags, .table = &table, .type = types[DELAY]
	};
	FILE *full = fopen("/dev/full", "we");

	assert_int_equal(top_json_write(full, &what), -EIO);
	fclose(full);
}

/* The ledger had no room for any tag of the class by itself. */
static void test_top__class_without_a_worst(void **state)
{
	struct fixture *fixture = *state;
	struct top_table table = { .total = 0 };
	struct loaded_profiles input = fixture->input;
	struct top_json what = {
		.input = &input, .tags = fixture->tags, .table = &table, .type = types[DELAY]
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	input.ledger = ledger_new(1);
	add_row(input.ledger, "train/1", 1, LEDGER_ONCPU, "", MS);
	add_row(input.ledger, "late/1", 1, LEDGER_STALL, "block_io", MS);
	assert_int_equal(top_json_write(out, &what), 0);
	fclose(out);
	assert_non_null(strstr(text, "\"worst\": null"));
	free(text);
	ledger_free(input.ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_top__class_without_a_worst, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_top__by_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_top__cumulative_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_top__by_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_top__by_stack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_top__by_label, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_top__filters, set_up, tear_down),
		cmocka_unit_test(test_top__tags_that_share_an_id),
		cmocka_unit_test_setup_teardown(test_top__picks_a_type, set_up, tear_down),
		cmocka_unit_test(test_top__a_profile_of_others),
		cmocka_unit_test_setup_teardown(test_top__full_disk, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
