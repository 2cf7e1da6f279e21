/* Tests of report_path.h: of which slices of a recording the samples are those of the incident. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "pprof/profile.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_sample.h"
#include "profiler/report/report_path.h"

#define SECOND  1000000000ULL
#define T0      1700000000ULL
#define HALF_NS (SECOND / 2) /* with which the recordings begin */

static const struct report_cause disk = { .kind = TIMELINE_STALL, .name = "block_io", .device = "vda" };

static struct loaded_profiles input;

static void sample(const char *function, const char *stall, uint64_t at, int64_t ns)
{
	struct profile_frame frame = { .function = function, .file = "train.py", .line = 7 };
	const struct profile_label labels[] = { { .key = "ai_tag", .str = "step" },
		                                { .key = "stall", .str = stall },
		                                { .key = "device", .str = "vda" },
		                                { .key = "at", .num = (int64_t)at, .unit = "unix_seconds" } };
	int64_t id = profile_location(input.owned, 0, 0, &frame, 1);

	assert_true(id > 0);
	assert_int_equal(profile_add_sample(input.owned, &id, 1, &ns, labels, 4), 0);
}

/* A recording of `slices` slices, in each of which another stall ends. */
static void begin(uint64_t slices, uint64_t width)
{
	const struct profile_value_type delay = { "delay", "nanoseconds" };

	input = (struct loaded_profiles){ .ledger = ledger_new(0),
		                          .stamp = stamp_new(),
		                          .owned = profile_new(&delay, 1, delay, 0, 1 << 20) };
	input.profile = input.owned;
	assert_int_equal(stamp_add_window(input.stamp, T0 * SECOND + HALF_NS,
	                                  (T0 + slices * width) * SECOND + HALF_NS),
	                 0);
	for (uint64_t i = 0; i < slices; i++)
		sample("idle", "throttle", T0 + i * width, 1000);
}

static void find(struct report_paths *paths, double from, double to)
{
	struct loaded_tags *tags = loaded_tags_new(&input);

	assert_non_null(tags);
	assert_int_equal(report_paths_find(paths, &input, tags, &disk,
	                                   T0 * SECOND + (uint64_t)(from * (double)SECOND),
	                                   T0 * SECOND + (uint64_t)(to * (double)SECOND)),
	                 0);
	loaded_tags_free(tags);
}

static void end(void)
{
	ledger_free(input.ledger);
	stamp_free(input.stamp);
	profile_free(input.owned);
}

/* Half an hour in slices of 16 s: an incident of 6 s is in the middle of one. */
static void test_report_path__wide_slices(void **state)
{
	struct report_paths paths;

	(void)state;
	begin(112, 16);
	sample("load", "block_io", T0 + 32, (int64_t)SECOND);
	sample("write_shard", "block_io", T0 + 48, 2 * (int64_t)SECOND);
	sample("flush", "block_io", T0 + 64, 9 * (int64_t)SECOND);
	find(&paths, 54, 60);
	assert_false(paths.whole);
	assert_int_equal(paths.count, 1);
	assert_string_equal(paths.path[0].own, "write_shard train.py:7");
	assert_int_equal(paths.ns, 2 * SECOND);
	assert_int_equal(paths.slice_ns, 16 * SECOND);
	/* A slice that ends in the incident, to the fraction of a second with which the recording begins. */
	find(&paths, 48.4, 54);
	assert_int_equal(paths.ns, 3 * SECOND);
	find(&paths, 48.6, 54);
	assert_int_equal(paths.ns, 2 * SECOND);
	end();
}

static void test_report_path__slices_of_a_second(void **state)
{
	struct report_paths paths;

	(void)state;
	begin(60, 1);
	sample("load", "block_io", T0 + 40, (int64_t)SECOND);
	sample("write_shard", "block_io", T0 + 44, 2 * (int64_t)SECOND);
	sample("flush", "block_io", T0 + 51, 9 * (int64_t)SECOND);
	find(&paths, 43, 49);
	assert_int_equal(paths.count, 1);
	assert_int_equal(paths.ns, 2 * SECOND);
	assert_int_equal(paths.slice_ns, 0);
	/* A shorter one has parts of slices, which is told. */
	find(&paths, 43.5, 45.4);
	assert_int_equal(paths.ns, 2 * SECOND);
	assert_int_equal(paths.slice_ns, SECOND);
	/* In none of the incident's: it is of the whole run. */
	find(&paths, 46, 49);
	assert_true(paths.whole);
	assert_int_equal(paths.ns, 12 * SECOND);
	end();
}

/* A stall of the cause with details. */
static void detailed(int64_t hctx, int64_t seqno, const char *pool, int64_t ns)
{
	const struct profile_label labels[] = {
		{ .key = "ai_tag", .str = "step" },
		{ .key = "stall", .str = "block_io" },
		{ .key = "device", .str = "vda" },
		{ .key = "at", .num = (int64_t)T0, .unit = "unix_seconds" },
		{ .key = "hctx", .num = hctx, .unit = "detail" },
		{ .key = "seqno", .num = seqno, .unit = "detail" },
		{ .key = "pool", .str = pool },
	};
	struct profile_frame frame = { .function = "load", .file = "train.py", .line = 7 };
	int64_t id = profile_location(input.owned, 0, 0, &frame, 1);

	assert_int_equal(profile_add_sample(input.owned, &id, 1, &ns, labels, 7), 0);
}

static void assert_label(const struct report_label *label, const char *key, const char *value, int64_t ns)
{
	assert_string_equal(label->key, key);
	assert_string_equal(label->value, value);
	assert_int_equal(label->ns, ns);
}

/* Whichever come first. The number of a fence is none: each has its own. */
static void test_report_path__the_heaviest_details(void **state)
{
	struct report_paths paths;

	(void)state;
	begin(1, 1);
	for (int64_t i = 1; i <= 20; i++)
		detailed(i, i, "scheduler", i);
	for (int64_t i = 0; i < 30; i++)
		detailed(99, 100 + i, "hardware", 5);
	detailed(20, 1, "scheduler", 100);
	find(&paths, 0, 1);
	assert_int_equal(paths.label_count, REPORT_LABELS_MAX);
	assert_label(&paths.label[0], "pool", "scheduler", 310);
	assert_label(&paths.label[1], "hctx", "99", 150);
	assert_label(&paths.label[2], "pool", "hardware", 150);
	assert_label(&paths.label[3], "hctx", "20", 120);
	assert_label(&paths.label[4], "hctx", "19", 19);
	assert_label(&paths.label[11], "hctx", "12", 12);
	end();
}

/* A wait for another thread, which waited for the disk. */
static void inherited(const char *class, const char *waker, int64_t tid, int64_t ns)
{
	const struct profile_label labels[] = {
		{ .key = "ai_tag", .str = class },
		{ .key = "stall", .str = "lock" },
		{ .key = "at", .num = (int64_t)T0, .unit = "unix_seconds" },
		{ .key = "tid", .num = tid, .unit = "id" },
		{ .key = "woken_by", .str = waker },
		{ .key = "inherited_from", .str = "loader" },
		{ .key = "inherited_stall", .str = "block_io" },
		{ .key = "inherited_device", .str = "vda" },
	};
	struct profile_frame frame = { .function = "wait", .file = "train.py", .line = 9 };
	int64_t id = profile_location(input.owned, 0, 0, &frame, 1);

	assert_int_equal(profile_add_sample(input.owned, &id, 1, &ns, labels, 8), 0);
}

/* However short each of a chain's waits is, and however many others come before them. */
static void test_report_path__the_longest_chains(void **state)
{
	struct report_paths paths;
	char waker[32];

	(void)state;
	begin(1, 1);
	for (int i = 0; i < 2 * REPORT_CHAINS_MAX; i++) {
		snprintf(waker, sizeof(waker), "worker-%d", i);
		inherited("step", waker, 1, 1000 + i);
	}
	for (int64_t tid = 0; tid < 30; tid++)
		inherited("save", "queue", tid, 100);
	inherited("step", "worker-0", 2, 1000);
	find(&paths, 0, 1);
	assert_int_equal(paths.chains.count, REPORT_CHAINS_MAX);
	assert_string_equal(paths.chains.chain[0].class, "save");
	assert_int_equal(paths.chains.chain[0].ns, 3000);
	assert_string_equal(paths.chains.chain[0].end, "block_io on vda");
	assert_string_equal(paths.chains.chain[1].waker, "worker-0");
	assert_int_equal(paths.chains.chain[1].ns, 2000);
	assert_int_equal(paths.chains.chain[2].ns, 1000 + 2 * REPORT_CHAINS_MAX - 1);
	assert_int_equal(paths.chains.first_ns, 3000);
	/* Of all chains, also those that are not kept. */
	inherited("step", "worker-1", 3, 9000);
	find(&paths, 0, 1);
	assert_string_equal(paths.chains.chain[0].waker, "worker-1");
	assert_int_equal(paths.chains.first_ns, 2 * REPORT_CHAINS_MAX * 1000 +
	                                                REPORT_CHAINS_MAX * (2 * REPORT_CHAINS_MAX - 1) +
	                                                10000);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_path__wide_slices),
		cmocka_unit_test(test_report_path__slices_of_a_second),
		cmocka_unit_test(test_report_path__the_heaviest_details),
		cmocka_unit_test(test_report_path__the_longest_chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
