/* Tests of report_path.h: of which slices of a recording the samples are those of the incident. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

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
	/* In none of the incident's: it is of the whole run. */
	find(&paths, 46, 49);
	assert_true(paths.whole);
	assert_int_equal(paths.ns, 12 * SECOND);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_path__wide_slices),
		cmocka_unit_test(test_report_path__slices_of_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
