/* Tests of scrape_windows.h: which windows are given to whom, and what they add up to. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pprof/profile.h"
#include "profiler/scrape/scrape_bytes.h"
#include "profiler/scrape/scrape_readers.h"
#include "profiler/scrape/scrape_windows.h"

#define SECOND 1000000000LL
#define ROOM   ((size_t)64 << 20)

enum { BLOCK, CPU, RECOVERY };

static const struct profile_value_type types[] = { { "contentions", "count" },
	                                           { "delay", "nanoseconds" },
	                                           { "cpu", "nanoseconds" },
	                                           { "recovery", "nanoseconds" } };
static atomic_bool goes_on;

/* A window of `seconds` and a little, whose waits sum to `delay`. */
static void add(struct scrape_windows *windows, int64_t seconds, int64_t delay, int64_t cpu)
{
	const struct profile_label label = { .key = "stall", .str = "block_io" };
	const struct profile_frame frame = { .function = "read" };
	const int64_t values[] = { delay < 0 ? -1 : 1, delay, cpu, 0 };
	struct profile *p = profile_new(types, 4, types[0], 1, ROOM);
	static int64_t now = 1700000000 * SECOND;
	int64_t location = profile_location(p, 0, 0, &frame, 1);

	if (delay || cpu)
		assert_int_equal(profile_add_sample(p, &location, 1, values, &label, 1), 0);
	profile_set_time(p, now, seconds * SECOND - 3000000);
	now += seconds * SECOND;
	assert_int_equal(scrape_windows_add(windows, p, 99), 0);
	profile_free(p);
}

/* The profile, which is dropped as bytes. */
static struct profile *decoded(struct scrape_bytes *bytes)
{
	struct profile *p = NULL;
	char err[256] = "";

	assert_non_null(bytes);
	if (profile_decode(scrape_bytes_data(bytes), scrape_bytes_length(bytes), ROOM, &p, err, sizeof(err)))
		fail_msg("%s", err);
	scrape_bytes_drop(bytes);
	return p;
}

/* The sum of the last type. */
static int64_t sum(struct scrape_bytes *bytes)
{
	struct profile *p = decoded(bytes);
	struct profile_sample_view sample;
	int64_t all = 0;

	for (size_t i = 0; profile_get_sample(p, i, &sample); i++) {
		assert_true(sample.values[profile_n_types(p) - 1] >= 0);
		all += sample.values[profile_n_types(p) - 1];
	}
	profile_free(p);
	return all;
}

static int64_t last(struct scrape_windows *windows, size_t series, uint64_t seconds)
{
	return sum(scrape_windows_last(windows, series, seconds, &goes_on));
}

static void test_scrape_windows__the_last_that_cover_so_many_seconds(void **state)
{
	struct scrape_windows *windows = scrape_windows_new();
	struct profile *p;

	(void)state;
	assert_null(scrape_windows_last(windows, BLOCK, 0, &goes_on));
	assert_int_equal(errno, ENODATA);
	add(windows, 10, 1, 1000);
	add(windows, 10, 20, 0);
	add(windows, 10, 300, 2000);
	assert_int_equal(last(windows, BLOCK, 0), 300);
	assert_int_equal(last(windows, BLOCK, 1), 300);
	assert_int_equal(last(windows, BLOCK, 10), 300); /* though it lasted 9.997 s */
	assert_int_equal(last(windows, BLOCK, 11), 320);
	assert_int_equal(last(windows, BLOCK, 20), 320);
	assert_int_equal(last(windows, BLOCK, 30), 321);
	assert_int_equal(last(windows, BLOCK, UINT64_MAX), 321);
	assert_int_equal(last(windows, CPU, 30), 3000);
	assert_int_equal(last(windows, RECOVERY, 30), 0);
	/* Asked again, it was joined already; and then a window makes another answer of it. */
	assert_int_equal(last(windows, BLOCK, 30), 321);
	add(windows, 10, 4000, 0);
	assert_int_equal(last(windows, BLOCK, 30), 4320);
	p = decoded(scrape_windows_last(windows, BLOCK, 20, &goes_on));
	assert_int_equal(profile_n_types(p), 2);
	assert_string_equal(profile_type(p, 0).type, "contentions");
	assert_string_equal(profile_type(p, 1).unit, "nanoseconds");
	assert_int_equal(profile_duration_ns(p), 2 * (10 * SECOND - 3000000));
	profile_free(p);
	p = decoded(scrape_windows_last(windows, CPU, 0, &goes_on)); /* without a sample */
	assert_int_equal(profile_n_samples(p), 0);
	assert_string_equal(profile_type(p, 0).type, "cpu");
	assert_string_equal(profile_period_type(p).type, "cpu");
	assert_true(profile_time_ns(p) > 1700000000 * SECOND);
	profile_free(p);
	scrape_windows_free(windows);
}

static int64_t read_new(struct scrape_windows *windows, const char *reader)
{
	struct scrape_taken taken;
	int64_t all = sum(scrape_windows_new_for(windows, reader, BLOCK, &taken, &goes_on));

	scrape_windows_read(windows, reader, &taken);
	return all;
}

static void test_scrape_windows__each_reader_has_each_window_once(void **state)
{
	struct scrape_windows *windows = scrape_windows_new();
	struct scrape_taken taken;

	(void)state;
	assert_int_equal(read_new(windows, "a"), 0);
	add(windows, 10, 1, 0);
	add(windows, 10, 20, 0);
	assert_int_equal(read_new(windows, "a"), 21);
	assert_int_equal(read_new(windows, "a"), 0);
	add(windows, 10, 300, 0);
	/* What was not sent to its end is given again. */
	assert_int_equal(sum(scrape_windows_new_for(windows, "a", BLOCK, &taken, &goes_on)), 300);
	assert_int_equal(read_new(windows, "a"), 300);
	assert_int_equal(read_new(windows, "b"), 321);
	/* Of another series it has had none. */
	assert_int_equal(sum(scrape_windows_new_for(windows, "a", CPU, &taken, &goes_on)), 0);
	assert_int_equal(taken.upto, 3);
	add(windows, 10, 4000, 0);
	assert_int_equal(read_new(windows, "b"), 4000);
	assert_int_equal(read_new(windows, "a"), 4000);
	scrape_windows_free(windows);
}

static void test_scrape_windows__what_is_taken_back_is_paid(void **state)
{
	struct scrape_windows *windows = scrape_windows_new();

	(void)state;
	add(windows, 10, 100, 0);
	add(windows, 10, -70, 0);
	add(windows, 10, 60, 0);
	add(windows, 10, 15, 0);
	assert_int_equal(read_new(windows, "a"), 100 - 70 + 60 + 15);
	assert_int_equal(last(windows, BLOCK, 0), 5);
	scrape_windows_free(windows);
}

static void test_scrape_windows__there_are_not_more_than_so_many(void **state)
{
	struct scrape_windows *windows = scrape_windows_new();

	(void)state;
	for (int i = 0; i < SCRAPE_WINDOWS + 10; i++)
		add(windows, 10, 1, 0);
	assert_int_equal(last(windows, BLOCK, 86400), SCRAPE_WINDOWS);
	assert_int_equal(read_new(windows, "a"), SCRAPE_WINDOWS);
	scrape_windows_clear(windows);
	assert_null(scrape_windows_last(windows, BLOCK, 0, &goes_on));
	scrape_windows_free(windows);
}

/* Adds a window with so many stacks that nothing packs well. */
static void add_large(struct scrape_windows *windows, int stacks)
{
	struct profile *p = profile_new(types, 4, types[0], 1, ROOM);
	const int64_t values[] = { 1, 1, 0, 0 };
	uint64_t random = 88172645463325252;

	for (int i = 0; i < stacks; i++) {
		char name[65] = "";
		struct profile_frame frame = { .function = name };
		int64_t location;

		for (int j = 0; j < 64; j += 16) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			snprintf(name + j, 17, "%016llx", (unsigned long long)random);
		}
		location = profile_location(p, 0, 0, &frame, 1);
		assert_int_equal(profile_add_sample(p, &location, 1, values, NULL, 0), 0);
	}
	profile_set_time(p, 1, 10 * SECOND);
	assert_int_equal(scrape_windows_add(windows, p, 99), 0);
	profile_free(p);
}

static void test_scrape_windows__joining_has_its_bounds(void **state)
{
	struct scrape_windows *windows = scrape_windows_new();
	struct scrape_bytes *bytes = NULL;
	struct scrape_taken taken;
	int joined = 0;

	(void)state;
	for (int i = 0; i < 12; i++)
		add_large(windows, 15000); /* some 0.5 MB each, and near to what Pyroscope takes */
	assert_in_range(last(windows, BLOCK, 3600), 4 * 15000, 11 * 15000);
	assert_int_equal(sum(scrape_windows_new_for(windows, "a", BLOCK, &taken, &goes_on)), 15000);
	assert_int_equal(taken.upto, 1);
	/* Another answer each time: after 2 s of CPU nothing more is joined, but the last window is still given. */
	for (joined = 0; joined < 1000; joined++) {
		bytes = scrape_windows_last(windows, BLOCK, 20 + joined % 2 * 10, &goes_on);
		if (!bytes)
			break;
		scrape_bytes_drop(bytes);
	}
	assert_null(bytes);
	assert_int_equal(errno, EAGAIN);
	assert_true(joined > 2);
	assert_int_equal(last(windows, BLOCK, 0), 15000);
	scrape_windows_free(windows);
}

static void test_scrape_windows__joining_stops(void **state)
{
	struct scrape_windows *windows = scrape_windows_new();
	atomic_bool stops;

	(void)state;
	atomic_init(&stops, true);
	add(windows, 10, 1, 0);
	add(windows, 10, 2, 0);
	assert_null(scrape_windows_last(windows, BLOCK, 20, &stops));
	assert_int_equal(errno, ECANCELED);
	assert_int_equal(last(windows, BLOCK, 20), 3);
	scrape_windows_free(windows);
}

static void test_scrape_windows__what_a_reader_comes_too_late_for_is_counted(void **state)
{
	struct scrape_windows *windows = scrape_windows_new();
	struct scrape_taken taken;

	(void)state;
	for (int i = 0; i < SCRAPE_WINDOWS + 3; i++)
		add(windows, 10, 1, 0);
	assert_int_equal(read_new(windows, "a"), SCRAPE_WINDOWS);
	assert_int_equal(scrape_windows_missed(windows), 0); /* it had none before */
	for (int i = 0; i < SCRAPE_WINDOWS + 5; i++)
		add(windows, 10, 1, 0);
	/* Not yet, as it has not had the answer; and then once. */
	scrape_bytes_drop(scrape_windows_new_for(windows, "a", BLOCK, &taken, &goes_on));
	assert_int_equal(scrape_windows_missed(windows), 0);
	assert_int_equal(read_new(windows, "a"), SCRAPE_WINDOWS);
	scrape_windows_read(windows, "a", &taken);
	assert_int_equal(scrape_windows_missed(windows), 5);
	assert_int_equal(read_new(windows, "a"), 0);
	add(windows, 10, 1, 0);
	assert_int_equal(read_new(windows, "a"), 1);
	assert_int_equal(scrape_windows_missed(windows), 5);
	scrape_windows_free(windows);
}

static void test_scrape_windows__invented_names_push_nobody_out(void **state)
{
	struct scrape_windows *windows = scrape_windows_new();
	struct scrape_taken taken;
	char name[16];

	(void)state;
	add(windows, 10, 1, 0);
	assert_int_equal(read_new(windows, "alloy"), 1);
	add(windows, 10, 2, 0);
	assert_int_equal(read_new(windows, "alloy"), 2);
	for (int i = 0; i < 3 * SCRAPE_READERS; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		assert_int_equal(read_new(windows, name), 3);
	}
	add(windows, 10, 4, 0);
	assert_int_equal(read_new(windows, "alloy"), 4);
	/* Nor do those that come twice; whoever is new has to wait then, until they have gone. */
	for (int i = 0; i < 2 * (SCRAPE_READERS - 1); i++) {
		snprintf(name, sizeof(name), "y%d", i / 2);
		read_new(windows, name);
	}
	assert_null(scrape_windows_new_for(windows, "new", BLOCK, &taken, &goes_on));
	assert_int_equal(errno, EUSERS);
	for (int i = 0; i < SCRAPE_WINDOWS; i++)
		add(windows, 10, 1, 0);
	assert_int_equal(read_new(windows, "new"), SCRAPE_WINDOWS);
	assert_int_equal(read_new(windows, "alloy"), SCRAPE_WINDOWS);
	scrape_windows_free(windows);
}

static void reads(struct scrape_readers *readers, const char *name, size_t series, uint64_t upto)
{
	scrape_readers_take(readers, name, &(const struct scrape_taken){ .series = series, .upto = upto });
}

static void test_scrape_readers__who_is_forgotten(void **state)
{
	struct scrape_readers readers = { .turns = 0, .oldest = 3 };
	char name[16];

	(void)state;
	for (int i = 0; i < SCRAPE_READERS; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		reads(&readers, name, BLOCK, 5);
	}
	reads(&readers, "r0", CPU, 2);
	reads(&readers, "r0", BLOCK, 5);
	reads(&readers, "new", BLOCK, 9); /* the one that came once, longest ago */
	assert_int_equal(scrape_readers_upto(&readers, "r0", BLOCK), 5);
	assert_int_equal(scrape_readers_upto(&readers, "r0", CPU), 2);
	assert_int_equal(scrape_readers_upto(&readers, "r1", BLOCK), 0);
	assert_int_equal(scrape_readers_upto(&readers, "new", BLOCK), 9);
	assert_int_equal(scrape_readers_upto(&readers, "new", CPU), 0);
	reads(&readers, "new", BLOCK, 7);
	assert_int_equal(scrape_readers_upto(&readers, "new", BLOCK), 9);
	for (int i = 2; i < SCRAPE_READERS; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		reads(&readers, name, BLOCK, 6);
	}
	assert_false(scrape_readers_have_room(&readers, "late"));
	assert_true(scrape_readers_have_room(&readers, "r7"));
	reads(&readers, "late", BLOCK, 9);
	assert_int_equal(scrape_readers_upto(&readers, "late", BLOCK), 0);
	/* Only r0 has had none of what is left. */
	readers.oldest = 6;
	reads(&readers, "late", BLOCK, 9);
	reads(&readers, "late", BLOCK, 9);
	assert_int_equal(scrape_readers_upto(&readers, "late", BLOCK), 9);
	assert_int_equal(scrape_readers_upto(&readers, "r0", BLOCK), 0);
	assert_false(scrape_readers_have_room(&readers, "r0"));
}

/* Who asks for all series once has not come again. */
static void test_scrape_readers__all_series_are_one_visit(void **state)
{
	struct scrape_readers readers = { .turns = 0, .oldest = 3 };
	char name[16];

	(void)state;
	for (int i = 0; i < SCRAPE_READERS; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		for (size_t series = BLOCK; series <= RECOVERY; series++)
			reads(&readers, name, series, 5);
	}
	assert_true(scrape_readers_have_room(&readers, "new"));
	for (int i = 0; i < SCRAPE_READERS; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		reads(&readers, name, RECOVERY, 6);
	}
	assert_false(scrape_readers_have_room(&readers, "new"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scrape_windows__the_last_that_cover_so_many_seconds),
		cmocka_unit_test(test_scrape_windows__each_reader_has_each_window_once),
		cmocka_unit_test(test_scrape_windows__what_is_taken_back_is_paid),
		cmocka_unit_test(test_scrape_windows__there_are_not_more_than_so_many),
		cmocka_unit_test(test_scrape_windows__joining_stops),
		cmocka_unit_test(test_scrape_windows__joining_has_its_bounds),
		cmocka_unit_test(test_scrape_windows__what_a_reader_comes_too_late_for_is_counted),
		cmocka_unit_test(test_scrape_windows__invented_names_push_nobody_out),
		cmocka_unit_test(test_scrape_readers__who_is_forgotten),
		cmocka_unit_test(test_scrape_readers__all_series_are_one_visit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
