#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/ledger_row.h"
#include "profiler/stamp.h"
#include "profiler/top.h"
#include "profiler/top_input.h"
#include "profiler/top_json.h"
#include "profiler/top_ledger.h"
#include "profiler/top_table.h"
#include "profiler/top_text.h"

#define MS 1000000

/* --- a recorded profile ----------------------------------------------------------------------------------- */

enum { CONTENTIONS, DELAY, CPU };

static const struct profile_value_type types[] = { { "contentions", "count" },
	                                           { "delay", "nanoseconds" },
	                                           { "cpu", "nanoseconds" } };

static int64_t place(struct profile *p, uint64_t address, const char *outer, const char *inlined)
{
	struct profile_frame frames[2] = { { .function = inlined, .file = "/src/in.c", .line = 7 },
		                           { .function = outer, .file = "/src/out.c", .line = 42 } };
	int64_t id = profile_location(p, 1, address, inlined ? frames : frames + 1, inlined ? 2 : 1);

	assert_true(id > 0);
	return id;
}

static void add_sample(struct profile *p, const int64_t *stack, size_t depth, int64_t delay, int64_t cpu,
                       const char *class, const char *id, const char *stall, const char *device)
{
	const int64_t values[] = { delay ? 1 : 0, delay, cpu };
	const struct profile_label labels[] = { { .key = "ai_tag", .str = class },
		                                { .key = "span_id", .str = id },
		                                { .key = "stall", .str = stall },
		                                { .key = "device", .str = device },
		                                { .key = "tid", .num = 7, .unit = "id" } };

	assert_int_equal(profile_add_sample(p, stack, depth, values, labels, 5), 0);
}

static void add_row(struct ledger *ledger, const char *tag, uint64_t id, enum ledger_state state,
                    const char *cause, uint64_t ns)
{
	struct ledger_row row = { .tag = (char *)tag,
		                  .id = id,
		                  .pid = 12 + (uint32_t)id,
		                  .start_ns = 5,
		                  .comm = (char *)"python3",
		                  .state = state,
		                  .cause = (char *)cause,
		                  .device = (char *)(*cause ? "vda" : ""),
		                  .ns = ns,
		                  .count = 1 };

	assert_int_equal(ledger_add(ledger, &row), 0);
}

static void add_comments(struct profile *p, uint64_t first_ns)
{
	struct ledger *ledger = ledger_new();
	struct stamp *stamp = stamp_new();

	add_row(ledger, "checkpoint_write/run1", 1, LEDGER_ONCPU, "", 10 * MS);
	add_row(ledger, "checkpoint_write/run1", 1, LEDGER_RUNQUEUE, "", 10 * MS);
	add_row(ledger, "checkpoint_write/run1", 1, LEDGER_STALL, "block_io", 60 * MS);
	add_row(ledger, "checkpoint_write/run1", 1, LEDGER_BLOCKED, "", 20 * MS);
	add_row(ledger, "step/9", 2, LEDGER_ONCPU, "", 90 * MS);
	add_row(ledger, "step/9", 2, LEDGER_STALL, "throttle", 10 * MS);
	assert_int_equal(stamp_add_window(stamp, first_ns, first_ns + 100 * MS), 0);
	assert_int_equal(stamp_add_hook(stamp, "block_io", "tp_btf/x", HOOK_ATTACHED, ""), 0);
	assert_int_equal(stamp_add_hook(stamp, "tag_wait", "tp_btf/y", HOOK_MISSING, "too old"), 0);
	assert_int_equal(stamp_add_counter(stamp, "ring_drops", 2), 0);
	assert_int_equal(stamp_to_comments(stamp, p), 0);
	assert_int_equal(ledger_to_comments(ledger, p), 0);
	ledger_free(ledger);
	stamp_free(stamp);
}

static struct profile *recorded(uint64_t first_ns)
{
	struct profile *p = profile_new(types, 3, types[CPU], 10101010, 1 << 24);
	int64_t io, main_fn, write_fn, recursion[3];

	assert_non_null(p);
	profile_set_time(p, (int64_t)first_ns, 100 * MS);
	assert_int_equal(profile_mapping(p, 0x1000, 0x9000, 0, "/bin/train", "ab", true, true), 1);
	io = place(p, 0x1100, "io_schedule", NULL);
	write_fn = place(p, 0x1200, "write_shard", "flush");
	main_fn = place(p, 0x1300, "main", NULL);
	recursion[0] = recursion[1] = write_fn;
	recursion[2] = main_fn;
	add_sample(p, (int64_t[]){ io, write_fn, main_fn }, 3, 50 * MS, 0, "checkpoint_write",
	           "0000000000000001", "block_io", "vda");
	add_sample(p, recursion, 3, 10 * MS, 0, "checkpoint_write", "0000000000000001", "block_io", "vda");
	add_sample(p, (int64_t[]){ io, main_fn }, 2, 10 * MS, 0, "step", "0000000000000002", "throttle",
	           "vdb");
	add_sample(p, (int64_t[]){ main_fn }, 1, 0, 5 * MS, "step", "0000000000000002", "block_io", "");
	add_comments(p, first_ns);
	return p;
}

/* --- the table -------------------------------------------------------------------------------------------- */

struct fixture {
	struct profile *profile;
	struct top_input input;
	struct top_tags *tags;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char err[256] = "";

	fixture->profile = recorded(1000);
	assert_int_equal(top_input_borrow(&fixture->input, fixture->profile, err, sizeof(err)), 0);
	fixture->tags = top_tags_new(&fixture->input);
	assert_non_null(fixture->tags);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	top_tags_free(fixture->tags);
	top_input_release(&fixture->input);
	profile_free(fixture->profile);
	free(fixture);
	return 0;
}

struct expected {
	const char *name;
	int64_t flat, cum;
};

static void assert_table(const struct fixture *fixture, struct top_filter filter, enum top_by by, size_t type,
                         const struct expected *rows, size_t count, int64_t total)
{
	struct top_table table;

	assert_int_equal(top_table_build(&table, &fixture->input, fixture->tags, &filter, by, type), 0);
	assert_int_equal(table.count, count);
	assert_int_equal(table.total, total);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(table.entries[i].name, rows[i].name);
		assert_int_equal(table.entries[i].flat, rows[i].flat);
		assert_int_equal(table.entries[i].cum, rows[i].cum);
	}
	top_table_free(&table);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_top__by_function(void **state)
{
	static const struct expected rows[] = { { "io_schedule", 60 * MS, 60 * MS },
		                                { "flush", 10 * MS, 60 * MS },
		                                { "main", 0, 70 * MS },
		                                { "write_shard", 0, 60 * MS } };
	static const struct expected cpu[] = { { "main", 5 * MS, 5 * MS } };

	assert_table(*state, (struct top_filter){ 0 }, TOP_BY_FUNCTION, DELAY, rows, COUNT(rows), 70 * MS);
	assert_table(*state, (struct top_filter){ 0 }, TOP_BY_FUNCTION, CPU, cpu, COUNT(cpu), 5 * MS);
}

static void test_top__by_line(void **state)
{
	static const struct expected rows[] = { { "io_schedule /src/out.c:42", 60 * MS, 60 * MS },
		                                { "flush /src/in.c:7", 10 * MS, 60 * MS },
		                                { "main /src/out.c:42", 0, 70 * MS },
		                                { "write_shard /src/out.c:42", 0, 60 * MS } };

	assert_table(*state, (struct top_filter){ 0 }, TOP_BY_LINE, DELAY, rows, COUNT(rows), 70 * MS);
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

	assert_table(*state, (struct top_filter){ 0 }, TOP_BY_STACK, DELAY, rows, COUNT(rows), 70 * MS);
}

static void test_top__by_label(void **state)
{
	static const struct expected tags[] = { { "checkpoint_write/run1", 60 * MS, 60 * MS },
		                                { "step/9", 10 * MS, 10 * MS } };
	static const struct expected stalls[] = { { "block_io", 60 * MS, 60 * MS },
		                                  { "throttle", 10 * MS, 10 * MS } };
	static const struct expected devices[] = { { "[no device]", 5 * MS, 5 * MS } };

	assert_table(*state, (struct top_filter){ 0 }, TOP_BY_TAG, DELAY, tags, 2, 70 * MS);
	assert_table(*state, (struct top_filter){ 0 }, TOP_BY_STALL, DELAY, stalls, 2, 70 * MS);
	assert_table(*state, (struct top_filter){ 0 }, TOP_BY_DEVICE, CPU, devices, 1, 5 * MS);
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
		{ NULL, "throttle", 10 * MS, 200 * MS },
		{ "step", "block_io", 0, 100 * MS },
		{ NULL, "none", 0, 200 * MS },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct top_filter filter = { .tag = rows[i].tag, .stall = rows[i].stall };
		struct top_ledger ledger;
		struct top_table table;

		assert_int_equal(
		        top_table_build(&table, &fixture->input, fixture->tags, &filter, TOP_BY_TAG, DELAY),
		        0);
		assert_int_equal(top_ledger_build(&ledger, &fixture->input, fixture->tags, &filter), 0);
		if (table.total != rows[i].total || ledger.sum.wall_ns != rows[i].wall)
			fail_msg("row %zu: %ld %lu", i, (long)table.total, (unsigned long)ledger.sum.wall_ns);
		top_table_free(&table);
		top_ledger_free(&ledger);
	}
}

static void test_top__picks_a_type(void **state)
{
	struct fixture *fixture = *state;
	struct profile *cpu_only = profile_new(types, 3, types[CPU], 1, 1 << 20);
	struct top_input input = { .profile = cpu_only };
	int64_t location = profile_location(cpu_only, 0, 1, NULL, 0);
	const int64_t values[] = { 0, 0, 3 };

	assert_int_equal(top_pick_type(&fixture->input, NULL), DELAY);
	assert_int_equal(top_pick_type(&fixture->input, "cpu"), CPU);
	assert_int_equal(top_pick_type(&fixture->input, "contentions"), CONTENTIONS);
	assert_int_equal(top_pick_type(&fixture->input, "wall"), -ENOENT);
	assert_int_equal(top_pick_type(&input, NULL), DELAY);
	assert_int_equal(profile_add_sample(cpu_only, &location, 1, values, NULL, 0), 0);
	assert_int_equal(top_pick_type(&input, NULL), CPU);
	profile_free(cpu_only);
}

static void test_top__ledger_table(void **state)
{
	struct fixture *fixture = *state;
	struct top_filter all = { 0 };
	struct top_ledger table;
	static const char *const columns[] = { "oncpu", "runqueue", "block_io", "throttle", "blocked" };

	assert_int_equal(top_ledger_build(&table, &fixture->input, fixture->tags, &all), 0);
	assert_int_equal(table.column_count, COUNT(columns));
	for (size_t i = 0; i < COUNT(columns); i++)
		assert_string_equal(table.columns[i], columns[i]);
	assert_int_equal(table.row_count, 2);
	assert_int_equal(table.processes, 2);
	assert_string_equal(table.rows[0].tag, "checkpoint_write/run1");
	assert_int_equal(table.rows[0].wall_ns, 100 * MS);
	assert_int_equal(table.rows[0].stalled_ns, 60 * MS);
	assert_int_equal(table.rows[0].ns[2], 60 * MS);
	assert_int_equal(table.sum.ns[0], 100 * MS);
	top_ledger_free(&table);
}

/* More causes than columns: they go to one of their own, and nothing is lost. */
static void test_top__ledger_with_many_causes(void **state)
{
	struct top_input input = { .ledger = ledger_new() };
	struct top_filter all = { 0 };
	struct top_ledger table;
	uint64_t sum = 0;
	char cause[32];

	(void)state;
	for (int i = 0; i < 2 * TOP_LEDGER_COLUMNS_MAX; i++) {
		snprintf(cause, sizeof(cause), "cause%d", i);
		add_row(input.ledger, "t", 1, LEDGER_STALL, cause, 1);
	}
	add_row(input.ledger, "t", 1, LEDGER_UNOBSERVED, "", 5);
	assert_int_equal(top_ledger_build(&table, &input, NULL, &all), 0);
	assert_int_equal(table.column_count, TOP_LEDGER_COLUMNS_MAX);
	for (size_t i = 0; i < table.column_count; i++)
		sum += table.rows[0].ns[i];
	assert_int_equal(sum, table.rows[0].wall_ns);
	assert_int_equal(sum, 2 * TOP_LEDGER_COLUMNS_MAX + 5);
	top_ledger_free(&table);
	ledger_free(input.ledger);
}

/* --- print ------------------------------------------------------------------------------------------------ */

static void test_top__summary(void **state)
{
	struct fixture *fixture = *state;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	top_print_summary(out, fixture->profile, 1);
	fclose(out);
	assert_non_null(strstr(text, "Ledger: where the wall time of 2 tags in 2 processes went\n"));
	assert_non_null(strstr(text, "  100.000 ms   10.00 %   10.00 %   60.00 %    0.00 %   20.00 %  "
	                             "checkpoint_write/run1\n"));
	assert_non_null(strstr(text, "and 1 more tags"));
	assert_non_null(strstr(text, "Top 1 of 3 stacks by delay: 70.000 ms in 3 samples\n"));
	assert_non_null(strstr(text, "                flush /src/in.c:7\n"));
	assert_non_null(strstr(
	        text, "  hooks: 1 attached, 1 missing\n    missing for tag_wait: tp_btf/y: too old\n"));
	assert_non_null(strstr(text, "  counters: ring_drops=2\n"));
	free(text);
}

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
	top_print_summary(out, p, 0);
	fclose(out);
	assert_non_null(strstr(text, "Ledger: none, as stallprof did not write this\n"));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_top__by_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_top__by_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_top__by_stack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_top__by_label, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_top__filters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_top__picks_a_type, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_top__ledger_table, set_up, tear_down),
		cmocka_unit_test(test_top__ledger_with_many_causes),
		cmocka_unit_test_setup_teardown(test_top__summary, set_up, tear_down),
		cmocka_unit_test(test_top__a_profile_of_others),
		cmocka_unit_test_setup_teardown(test_top__full_disk, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
