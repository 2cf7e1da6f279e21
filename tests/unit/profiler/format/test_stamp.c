/* Tests of stamp.h: hooks, counters and times survive writing, reading and merging. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/stamp.h"

static struct profile *new_profile(int64_t time_ns)
{
	static const struct profile_value_type type = { "delay", "nanoseconds" };
	struct profile *profile = profile_new(&type, 1, type, 1, 1 << 24);

	assert_non_null(profile);
	profile_set_time(profile, time_ns, 1);
	return profile;
}

static struct stamp *sample_stamp(void)
{
	struct stamp *stamp = stamp_new();

	assert_non_null(stamp);
	assert_int_equal(stamp_add_window(stamp, 1000, 3000), 0);
	stamp_set_threshold(stamp, 10000000);
	assert_int_equal(stamp_add_hook(stamp, "block_io", "tp_btf/block_rq_complete", HOOK_ATTACHED, NULL),
	                 0);
	assert_int_equal(stamp_add_hook(stamp, "tag_wait", "tp_btf/block_rq_tag_wait", HOOK_MISSING,
	                                "not in this \"kernel\"\n(6.1)"),
	                 0);
	assert_int_equal(stamp_add_counter(stamp, "ring_drops", 0), 0);
	assert_int_equal(stamp_add_counter(stamp, "stacks cut", 3), 0);
	return stamp;
}

static void assert_sample_twice(const struct stamp *stamp)
{
	struct stamp_coverage coverage = stamp_coverage(stamp);

	assert_int_equal(coverage.first_ns, 1000);
	assert_int_equal(coverage.last_ns, 3000);
	assert_int_equal(coverage.covered_ns, 4000);
	assert_int_equal(coverage.windows, 2);
	assert_int_equal(coverage.threshold_ns, 10000000);
	assert_int_equal(stamp_hook_count(stamp), 2);
	assert_int_equal(stamp_hook_at(stamp, 0).state, HOOK_ATTACHED);
	assert_string_equal(stamp_hook_at(stamp, 0).hook, "tp_btf/block_rq_complete");
	assert_string_equal(stamp_hook_at(stamp, 0).reason, "");
	assert_string_equal(stamp_hook_at(stamp, 1).cause, "tag_wait");
	assert_string_equal(stamp_hook_at(stamp, 1).reason, "not in this \"kernel\"\n(6.1)");
	assert_int_equal(stamp_counter_count(stamp), 2);
	assert_string_equal(stamp_counter_at(stamp, 0).name, "ring_drops");
	assert_int_equal(stamp_counter(stamp, "ring_drops"), 0);
	assert_int_equal(stamp_counter(stamp, "stacks cut"), 6);
	assert_int_equal(stamp_counter(stamp, "unknown"), 0);
}

static void test_stamp__round_trip_sums(void **state)
{
	struct stamp *stamp = sample_stamp(), *sum = stamp_new();
	struct profile *profile = new_profile(1000);
	size_t malformed = 0;

	(void)state;
	assert_int_equal(stamp_to_notes(stamp, profile), 0);
	assert_string_equal(profile_note(profile, 0), "stallprof.format 2");
	assert_string_equal(profile_note(profile, 1),
	                    "stallprof.covered first_ns=1000 last_ns=3000 covered_ns=2000 windows=1");
	assert_string_equal(profile_note(profile, 3),
	                    "stallprof.hook cause=block_io hook=tp_btf/block_rq_complete state=attached");
	assert_string_equal(profile_note(profile, 5), "stallprof.counter name=ring_drops value=0");
	assert_int_equal(stamp_from_notes(sum, profile, &malformed), 0);
	assert_int_equal(stamp_from_notes(sum, profile, &malformed), 0);
	assert_int_equal(malformed, 0);
	assert_sample_twice(sum);
	stamp_free(stamp);
	stamp_free(sum);
	stamp_free(NULL);
	profile_free(profile);
}

/* Windows of equal losses, merged by a tool that drops equal comments. */
static void test_stamp__counters_survive_a_merge(void **state)
{
	struct stamp *stamp = sample_stamp(), *sum = stamp_new();
	struct profile *first = new_profile(1000), *second = new_profile(2000);
	char err[128] = "";

	(void)state;
	assert_int_equal(stamp_to_notes(stamp, first), 0);
	assert_int_equal(stamp_to_notes(stamp, second), 0);
	assert_int_equal(profile_merge(first, second, err, sizeof(err)), 0);
	assert_int_equal(stamp_from_notes(sum, first, NULL), 0);
	assert_int_equal(stamp_counter(sum, "stacks cut"), 6);
	assert_int_equal(stamp_hook_count(sum), 2);
	stamp_free(stamp);
	stamp_free(sum);
	profile_free(first);
	profile_free(second);
}

/* When the machine was booted, of windows of one and of two machines, and of a profile that does not say it. */
static void test_stamp__booted(void **state)
{
	static const struct {
		uint64_t first, second, sum;
	} rows[] = { { 5000000000, 5000000000, 5000000000 },
		     { 5000000000, 5050000000, 5000000000 },
		     { 5000000000, 7000000000, 0 },
		     { 5000000000, 0, 0 },
		     { 0, 5000000000, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stamp *sum = stamp_new();

		for (int second = 0; second < 2; second++) {
			struct stamp *stamp = stamp_new();
			struct profile *profile = new_profile(1000);

			assert_int_equal(stamp_add_window(stamp, 1000, 3000), 0);
			stamp_set_booted(stamp, second ? rows[i].second : rows[i].first);
			assert_int_equal(stamp_to_notes(stamp, profile), 0);
			assert_int_equal(stamp_from_notes(sum, profile, NULL), 0);
			stamp_free(stamp);
			profile_free(profile);
		}
		assert_int_equal(stamp_coverage(sum).booted_ns, rows[i].sum);
		stamp_free(sum);
	}
}

/* T of waits that are no stalls; older profiles have one T for all. */
static void test_stamp__threshold_of_other_waits(void **state)
{
	static const struct {
		const char *note;
		uint64_t expected;
	} cases[] = { { "stallprof.sampling threshold_ns=5 blocked_threshold_ns=9", 9 },
		      { "stallprof.sampling threshold_ns=5 blocked_threshold_ns=0", 0 },
		      { "stallprof.sampling threshold_ns=5", 5 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile *profile = new_profile(1000), *again = new_profile(2000);
		struct stamp *stamp = stamp_new(), *back = stamp_new();

		assert_int_equal(profile_add_note(profile, "stallprof.format 2"), 0);
		assert_int_equal(profile_add_note(profile, cases[i].note), 0);
		assert_int_equal(stamp_from_notes(stamp, profile, NULL), 0);
		assert_int_equal(stamp_coverage(stamp).blocked_threshold_ns, cases[i].expected);
		assert_int_equal(stamp_to_notes(stamp, again), 0);
		assert_int_equal(stamp_from_notes(back, again, NULL), 0);
		assert_int_equal(stamp_coverage(back).blocked_threshold_ns, cases[i].expected);
		stamp_free(stamp);
		stamp_free(back);
		profile_free(profile);
		profile_free(again);
	}
}

static void test_stamp__the_worst_state_stands(void **state)
{
	struct stamp *stamp = stamp_new();

	(void)state;
	assert_int_equal(stamp_add_hook(stamp, "c", "h", HOOK_ATTACHED, ""), 0);
	assert_int_equal(stamp_add_hook(stamp, "c", "h", HOOK_MISSING, "first"), 0);
	assert_int_equal(stamp_add_hook(stamp, "c", "h", HOOK_MISSING, "second"), 0);
	assert_int_equal(stamp_add_hook(stamp, "c", "h", HOOK_ATTACHED, ""), 0);
	assert_int_equal(stamp_add_hook(stamp, "d", "h", HOOK_ATTACHED, ""), 0);
	assert_int_equal(stamp_hook_count(stamp), 2);
	assert_int_equal(stamp_hook_at(stamp, 0).state, HOOK_MISSING);
	assert_string_equal(stamp_hook_at(stamp, 0).reason, "first");
	stamp_free(stamp);
}

/* What kernel frames could be told of: the worse of two stands, with what would help. */
static void test_stamp__kernel_symbols(void **state)
{
	const struct stamp_kernel dwarf = { .state = KERNEL_SYMBOLS_DWARF, .modules_without_debug = 2 };
	const struct stamp_kernel names = { .state = KERNEL_SYMBOLS_KALLSYMS, .advice = "install \"it\"" };
	struct profile *profile = new_profile(5);
	struct stamp *stamp = stamp_new(), *back = stamp_new();
	size_t malformed = 0;

	(void)state;
	assert_int_equal(stamp_kernel(stamp).state, KERNEL_SYMBOLS_UNSAID);
	assert_int_equal(stamp_set_kernel(stamp, &dwarf), 0);
	assert_string_equal(stamp_kernel(stamp).advice, "");
	assert_int_equal(stamp_to_notes(stamp, profile), 0);
	assert_int_equal(stamp_from_notes(back, profile, &malformed), 0);
	assert_int_equal(stamp_kernel(back).state, KERNEL_SYMBOLS_DWARF);
	assert_int_equal(stamp_kernel(back).modules_without_debug, 2);
	assert_int_equal(stamp_set_kernel(stamp, &names), 0);
	assert_int_equal(stamp_to_notes(stamp, profile), 0);
	assert_int_equal(stamp_from_notes(back, profile, &malformed), 0);
	assert_int_equal(stamp_set_kernel(back, &dwarf), 0);
	assert_int_equal(stamp_kernel(back).state, KERNEL_SYMBOLS_KALLSYMS);
	assert_int_equal(stamp_kernel(back).modules_without_debug, 2);
	assert_string_equal(stamp_kernel(back).advice, "install \"it\"");
	assert_int_equal(malformed, 0);
	assert_int_equal(
	        profile_add_note(profile, "stallprof.kernel_symbols state=none modules_without_debug=0"), 0);
	assert_int_equal(stamp_from_notes(back, profile, &malformed), 0);
	assert_int_equal(malformed, 1);
	stamp_free(stamp);
	stamp_free(back);
	profile_free(profile);
}

static void test_stamp__windows_and_thresholds(void **state)
{
	struct stamp *stamp = stamp_new();
	struct stamp_coverage coverage;

	(void)state;
	assert_int_equal(stamp_add_window(stamp, 50, 60), 0);
	assert_int_equal(stamp_add_window(stamp, 10, 30), 0);
	assert_int_equal(stamp_add_window(stamp, 30, 29), -EINVAL);
	stamp_set_threshold(stamp, 5);
	stamp_set_threshold(stamp, 9);
	stamp_set_threshold(stamp, 7);
	coverage = stamp_coverage(stamp);
	assert_int_equal(coverage.first_ns, 10);
	assert_int_equal(coverage.last_ns, 60);
	assert_int_equal(coverage.covered_ns, 30);
	assert_int_equal(coverage.windows, 2);
	assert_int_equal(coverage.threshold_ns, 9);
	assert_int_equal(stamp_span_ns(&coverage), 30);
	assert_int_equal(stamp_add_window(stamp, 10, 60), 0); /* of another host */
	coverage = stamp_coverage(stamp);
	assert_int_equal(stamp_span_ns(&coverage), 50);
	assert_int_equal(stamp_add_counter(stamp, "c", UINT64_MAX), 0);
	assert_int_equal(stamp_add_counter(stamp, "c", 1), 0);
	assert_true(stamp_counter(stamp, "c") == UINT64_MAX);
	/* How many there are in each window is no sum. */
	assert_int_equal(stamp_add_counter(stamp, "cpus_not_covered", 2), 0);
	assert_int_equal(stamp_add_counter(stamp, "cpus_not_covered", 1), 0);
	assert_int_equal(stamp_counter(stamp, "cpus_not_covered"), 2);
	stamp_free(stamp);
}

static void test_stamp__formats(void **state)
{
	struct stamp *stamp = stamp_new();
	struct profile *profile = new_profile(0);

	(void)state;
	assert_int_equal(profile_add_note(profile, "stallprof.counter name=x value=1"), 0);
	assert_int_equal(stamp_from_notes(stamp, profile, NULL), -ENODATA);
	assert_int_equal(profile_add_note(profile, "stallprof.format 2"), 0);
	assert_int_equal(profile_add_note(profile, "stallprof.format 3"), 0);
	assert_int_equal(stamp_from_notes(stamp, profile, NULL), -EPROTONOSUPPORT);
	assert_int_equal(stamp_counter_count(stamp), 0);
	stamp_free(stamp);
	profile_free(profile);
}

static void test_stamp__malformed_lines_are_counted(void **state)
{
	static const char *const lines[] = {
		"stallprof.format 2",
		"stallprof.counter name=good value=1 new=field",
		"stallprof.counter name=a",
		"stallprof.counter value=1",
		"stallprof.counter name=a value=x",
		"stallprof.hook cause=a hook=b",
		"stallprof.hook cause=a hook=b state=odd",
		"stallprof.covered first_ns=2 last_ns=1 covered_ns=1 windows=1",
		"stallprof.covered first_ns=2",
		"stallprof.sampling",
		"stallprof.future something=1",
	};
	struct stamp *stamp = stamp_new();
	struct profile *profile = new_profile(0);
	size_t malformed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(profile_add_note(profile, lines[i]), 0);
	assert_int_equal(stamp_from_notes(stamp, profile, &malformed), 0);
	assert_int_equal(malformed, 8);
	assert_int_equal(stamp_counter_count(stamp), 1);
	assert_int_equal(stamp_hook_count(stamp), 0);
	assert_int_equal(stamp_coverage(stamp).windows, 0);
	stamp_free(stamp);
	profile_free(profile);
}

static void test_stamp__maxima(void **state)
{
	struct stamp *stamp = stamp_new();
	char name[32];

	(void)state;
	for (int i = 0; i < STAMP_COUNTERS_MAX; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(stamp_add_counter(stamp, name, 1), 0);
		assert_int_equal(stamp_add_hook(stamp, "c", name, HOOK_ATTACHED, ""), 0);
	}
	assert_int_equal(stamp_add_counter(stamp, "more", 1), -ENOSPC);
	assert_int_equal(stamp_add_counter(stamp, "n0", 1), 0);
	assert_int_equal(stamp_add_hook(stamp, "c", "more", HOOK_ATTACHED, ""), -ENOSPC);
	stamp_free(stamp);
}

static void test_stamp__growth(void **state)
{
	struct stamp_growth growth = { 0 }, from_ten = { .told = 10 };
	struct stamp *stamp = stamp_new();

	(void)state;
	assert_int_equal(stamp_add_growth(stamp, "g", &growth, 5), 0);
	assert_int_equal(stamp_counter(stamp, "g"), 5);
	assert_int_equal(stamp_add_growth(stamp, "g", &growth, 5), 0);
	assert_int_equal(stamp_counter(stamp, "g"), 5);
	assert_int_equal(stamp_add_growth(stamp, "g", &growth, 0), 0); /* it could not be read */
	assert_int_equal(stamp_add_growth(stamp, "g", &growth, 7), 0);
	assert_int_equal(stamp_counter(stamp, "g"), 7);
	assert_int_equal(stamp_add_growth(stamp, "h", &from_ten, 11), 0);
	assert_int_equal(stamp_counter(stamp, "h"), 1);
	stamp_free(stamp);
}

/* What a full stamp could not take is told to the next one. */
static void test_stamp__growth_is_not_lost(void **state)
{
	struct stamp_growth growth = { 0 };
	struct stamp *full = stamp_new(), *next = stamp_new();
	char name[16];

	(void)state;
	for (int i = 0; i < STAMP_COUNTERS_MAX; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(stamp_add_counter(full, name, 1), 0);
	}
	assert_int_equal(stamp_add_growth(full, "g", &growth, 5), -ENOSPC);
	assert_int_equal(stamp_add_growth(next, "g", &growth, 8), 0);
	assert_int_equal(stamp_counter(next, "g"), 8);
	stamp_free(full);
	stamp_free(next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stamp__round_trip_sums),
		cmocka_unit_test(test_stamp__booted),
		cmocka_unit_test(test_stamp__counters_survive_a_merge),
		cmocka_unit_test(test_stamp__the_worst_state_stands),
		cmocka_unit_test(test_stamp__kernel_symbols),
		cmocka_unit_test(test_stamp__windows_and_thresholds),
		cmocka_unit_test(test_stamp__threshold_of_other_waits),
		cmocka_unit_test(test_stamp__formats),
		cmocka_unit_test(test_stamp__malformed_lines_are_counted),
		cmocka_unit_test(test_stamp__maxima),
		cmocka_unit_test(test_stamp__growth),
		cmocka_unit_test(test_stamp__growth_is_not_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
