/* Tests of timeline.h: values spread over buckets, buckets that get wider, and the way through a profile's notes. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "pprof/profile.h"
#include "profiler/format/timeline.h"

#define MS 1000000ULL

static const struct timeline_lane stalls = { TIMELINE_STALL, "ck pt", "block_io", "vda", 10 * MS };
static const struct timeline_lane steps = { TIMELINE_STEPS, "step", NULL, NULL, 1000 * MS };

static struct timeline *new_timeline(size_t max_points)
{
	struct timeline *timeline = timeline_new(max_points);

	assert_non_null(timeline);
	return timeline;
}

static struct profile *new_profile(void)
{
	static const struct profile_value_type type = { "delay", "nanoseconds" };
	struct profile *profile = profile_new(&type, 1, type, 1, 1 << 24);

	assert_non_null(profile);
	return profile;
}

static void add(struct timeline *timeline, const struct timeline_lane *lane, uint64_t begin_ms, uint64_t ms,
                int64_t value)
{
	assert_int_equal(timeline_add(timeline, lane, begin_ms * MS, (begin_ms + ms) * MS, value), 0);
}

static void expect_point(const struct timeline *timeline, size_t lane, size_t at, uint64_t begin_ms,
                         int64_t value)
{
	size_t count;
	const struct timeline_point *points = timeline_points(timeline, lane, &count);

	assert_true(at < count);
	assert_int_equal(points[at].begin_ns, begin_ms * MS);
	assert_int_equal(points[at].value, value);
}

/* Of the lane's points, which have to be in order. */
static int64_t sum_of(const struct timeline *timeline, size_t lane)
{
	size_t count;
	const struct timeline_point *points = timeline_points(timeline, lane, &count);
	uint64_t bucket_ns = timeline_lane_at(timeline, lane)->bucket_ns;
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		assert_int_equal(points[i].begin_ns % bucket_ns, 0);
		assert_true(!i || points[i].begin_ns > points[i - 1].begin_ns);
		sum += points[i].value;
	}
	return sum;
}

static void test_timeline__spreads_a_value_over_its_time(void **state)
{
	struct timeline *timeline = new_timeline(0);
	size_t count;

	(void)state;
	add(timeline, &stalls, 1005, 30, 300);
	add(timeline, &stalls, 1012, 0, 5);
	add(timeline, &stalls, 500, 1, 7); /* an earlier one comes later */
	add(timeline, &stalls, 1100, 10, -4);
	timeline_points(timeline, 0, &count);
	assert_int_equal(count, 6);
	expect_point(timeline, 0, 0, 500, 7);
	expect_point(timeline, 0, 1, 1000, 50);
	expect_point(timeline, 0, 2, 1010, 105);
	expect_point(timeline, 0, 3, 1020, 100);
	expect_point(timeline, 0, 4, 1030, 50);
	expect_point(timeline, 0, 5, 1100, -4);
	timeline_free(timeline);
}

static void test_timeline__nothing_is_lost_by_rounding(void **state)
{
	struct timeline *timeline = new_timeline(0);
	int64_t whole = 0;

	(void)state;
	for (int64_t i = 1; i < 300; i++) {
		add(timeline, &stalls, (uint64_t)(i * 7919 % 5000), (uint64_t)(i % 97), 1000003 * i);
		whole += 1000003 * i;
	}
	assert_int_equal(sum_of(timeline, 0), whole);
	timeline_free(timeline);
}

static void test_timeline__buckets_get_wider_when_there_are_too_many(void **state)
{
	struct timeline *timeline = new_timeline(64);
	size_t count;

	(void)state;
	add(timeline, &steps, 0, 20000, 20);
	add(timeline, &stalls, 3600000, 60000, 60);
	for (uint64_t i = 0; i < 1000; i++)
		add(timeline, &stalls, i * 37, 5, 3);
	timeline_points(timeline, 1, &count);
	assert_in_range(count, 2, 64);
	assert_int_equal(timeline_lane_at(timeline, 0)->bucket_ns % (1000 * MS), 0);
	assert_true(timeline_lane_at(timeline, 1)->bucket_ns > 10 * MS);
	assert_int_equal(sum_of(timeline, 0), 20);
	assert_int_equal(sum_of(timeline, 1), 3060);
	timeline_free(timeline);
}

/* A host may begin thousands of processes: what stalls has its lanes all the same. */
static void test_timeline__processes_leave_room(void **state)
{
	struct timeline_lane user = {
		.kind = TIMELINE_SIGNAL, .name = HOST_USER_CPU, .device = "", .bucket_ns = 1000 * MS
	};
	struct timeline *timeline = new_timeline(0), *sum = new_timeline(0);
	char class[32];

	(void)state;
	user.class = class;
	for (int i = 0; i < 3 * TIMELINE_LANES_MAX; i++) {
		snprintf(class, sizeof(class), "make (%d)", i);
		add(timeline, &user, 1000, 1000, 7);
	}
	add(timeline, &stalls, 1000, 10, 9);
	assert_int_equal(timeline_count(timeline), TIMELINE_USERS_MAX + 2);
	assert_string_equal(timeline_lane_at(timeline, TIMELINE_USERS_MAX)->class, HOST_USER_OTHERS);
	assert_int_equal(sum_of(timeline, TIMELINE_USERS_MAX),
	                 7 * (3 * TIMELINE_LANES_MAX - TIMELINE_USERS_MAX));
	assert_int_equal(timeline_merge(sum, timeline), 0);
	assert_int_equal(timeline_count(sum), TIMELINE_USERS_MAX + 2);
	timeline_free(timeline);
	timeline_free(sum);
}

static void test_timeline__refuses(void **state)
{
	struct timeline *timeline = new_timeline(0);
	struct timeline_lane lane = stalls;
	char name[16];

	(void)state;
	assert_int_equal(timeline_add(timeline, &lane, 2, 1, 1), -EINVAL);
	lane.bucket_ns = 0;
	assert_int_equal(timeline_add(timeline, &lane, 1, 2, 1), -EINVAL);
	lane.bucket_ns = TIMELINE_BUCKET_MAX_NS + 1;
	assert_int_equal(timeline_add(timeline, &lane, 1, 2, 1), -EINVAL);
	lane.bucket_ns = 1;
	assert_int_equal(timeline_add(timeline, &lane, 0, 36525 * TIMELINE_BUCKET_MAX_NS, 1), 0);
	assert_int_equal(timeline_add(timeline, &lane, 0, UINT64_MAX, 1), -ENOSPC);
	lane.name = name;
	for (int i = 1; i < TIMELINE_LANES_MAX; i++) {
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(timeline_add(timeline, &lane, 1, 2, 1), 0);
	}
	snprintf(name, sizeof(name), "one more");
	assert_int_equal(timeline_add(timeline, &lane, 1, 2, 1), -ENOSPC);
	timeline_free(timeline);
}

static void test_timeline__through_notes(void **state)
{
	struct timeline *timeline = new_timeline(0), *again = new_timeline(0);
	struct profile *profile = new_profile();
	size_t malformed = 0;

	(void)state;
	for (uint64_t i = 0; i < 5000; i++) /* more than one line holds */
		add(timeline, &stalls, 20 * i, 10, (int64_t)i - 7);
	add(timeline, &steps, 3000, 1000, 12);
	assert_int_equal(timeline_to_notes(timeline, profile), 0);
	assert_true(profile_n_notes(profile) > 3);
	for (int files = 1; files <= 2; files++) {
		assert_int_equal(timeline_from_notes(again, profile, &malformed), 0);
		assert_int_equal(timeline_count(again), 2);
		assert_string_equal(timeline_lane_at(again, 0)->class, "ck pt");
		assert_string_equal(timeline_lane_at(again, 0)->device, "vda");
		assert_int_equal(timeline_lane_at(again, 1)->kind, TIMELINE_STEPS);
		assert_int_equal(timeline_lane_at(again, 1)->bucket_ns, 1000 * MS);
		assert_int_equal(sum_of(again, 0), files * sum_of(timeline, 0));
		expect_point(again, 0, 100, 2000 + 20, files * 94);
		expect_point(again, 1, 0, 3000, files * 12);
	}
	assert_int_equal(malformed, 0);
	timeline_free(timeline);
	timeline_free(again);
	profile_free(profile);
}

static void test_timeline__malformed_notes(void **state)
{
	static const char *const lines[] = {
		"stallprof.timeline kind=stall class=a name=b device=c bucket_ns=10 begin_ns=20 data=0:1,2:",
		"stallprof.timeline kind=stall class=a name=b device=c bucket_ns=10 begin_ns=20 data=x",
		"stallprof.timeline kind=stall class=a name=b device=c bucket_ns=10 begin_ns=20 data=0:1,",
		"stallprof.timeline kind=stall class=a name=b device=c bucket_ns=10 begin_ns=21 data=0:1",
		"stallprof.timeline kind=stall class=a name=b device=c bucket_ns=0 begin_ns=20 data=0:1",
		"stallprof.timeline kind=nap class=a name=b device=c bucket_ns=10 begin_ns=20 data=0:1",
		"stallprof.timeline kind=stall class=a name=b device=c bucket_ns=10 data=0:1",
		"stallprof.timeline kind=stall bucket_ns=10 begin_ns=20 data=18446744073709551615:1",
		"stallprof.timeline kind=stall bucket_ns=1 begin_ns=18446744073709551000 data=0:1,1:1",
		"stallprof.timeline kind=stall bucket_ns=10 begin_ns=9223372036854775800 data=0:1",
	};
	const size_t n = sizeof(lines) / sizeof(*lines);
	struct timeline *timeline = new_timeline(0);
	struct profile *profile = new_profile();
	size_t malformed = 0;

	(void)state;
	for (size_t i = 0; i < n; i++)
		profile_add_note(profile, lines[i]);
	profile_add_note(profile, "stallprof.other kind=stall");
	assert_int_equal(timeline_from_notes(timeline, profile, &malformed), 0);
	assert_int_equal(malformed, n);
	timeline_free(timeline);
	profile_free(profile);
}

/* Of several files together: what has no room does not keep the rest from being read. */
static void test_timeline__more_lanes_than_there_is_room_for(void **state)
{
	struct timeline *timeline = new_timeline(0);
	struct profile *profile = new_profile();
	size_t malformed = 0;
	char line[160];

	(void)state;
	for (int i = 0; i < TIMELINE_LANES_MAX + 3; i++) {
		snprintf(line, sizeof(line),
		         "stallprof.timeline kind=stall class=c%d name=b device=c bucket_ns=10 begin_ns=20 "
		         "data=0:1",
		         i);
		profile_add_note(profile, line);
	}
	assert_int_equal(timeline_from_notes(timeline, profile, &malformed), 0);
	assert_int_equal(timeline_count(timeline), TIMELINE_LANES_MAX);
	assert_int_equal(malformed, 0);
	assert_int_equal(timeline_refused(timeline), 3);
	/* Once each, however many windows have them; and of profiles that are read more have room. */
	assert_int_equal(timeline_from_notes(timeline, profile, &malformed), 0);
	assert_int_equal(timeline_refused(timeline), 3);
	timeline_allow_many(timeline);
	assert_int_equal(timeline_from_notes(timeline, profile, &malformed), 0);
	assert_int_equal(timeline_count(timeline), TIMELINE_LANES_MAX + 3);
	assert_int_equal(malformed, 0);
	timeline_free(timeline);
	profile_free(profile);
}

static void test_timeline__merge(void **state)
{
	struct timeline *timeline = new_timeline(0), *from = new_timeline(0);

	(void)state;
	add(timeline, &stalls, 100, 20, 20);
	add(from, &steps, 0, 0, 3);
	add(from, &stalls, 110, 20, 200);
	assert_int_equal(timeline_merge(timeline, from), 0);
	assert_int_equal(timeline_count(timeline), 2);
	expect_point(timeline, 0, 0, 100, 10);
	expect_point(timeline, 0, 1, 110, 110);
	expect_point(timeline, 0, 2, 120, 100);
	expect_point(timeline, 1, 0, 0, 3);
	/* What was added stays. */
	assert_int_equal(sum_of(from, 1), 200);
	assert_int_equal(timeline_merge(from, timeline), 0);
	assert_int_equal(sum_of(from, 1), 420);
	timeline_free(from);
	timeline_free(timeline);
}

/* A lane that has no place costs itself alone, whichever it is. */
static void test_timeline__merge_without_room_for_all(void **state)
{
	struct timeline *timeline = new_timeline(0), *from = new_timeline(0);
	char class[16];

	(void)state;
	for (int i = 0; i < TIMELINE_LANES_MAX; i++) {
		const struct timeline_lane lane = { TIMELINE_STALL, class, "a", "b", 10 * MS };

		snprintf(class, sizeof(class), "c%d", i);
		add(timeline, &lane, 0, 10, 1);
		if (i == 7) {
			add(from, &stalls, 0, 10, 5);
			add(from, &lane, 0, 10, 5);
		}
	}
	assert_int_equal(timeline_merge(timeline, from), -ENOSPC);
	assert_int_equal(timeline_count(timeline), TIMELINE_LANES_MAX);
	assert_int_equal(sum_of(timeline, 7), 6);
	timeline_free(from);
	timeline_free(timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timeline__spreads_a_value_over_its_time),
		cmocka_unit_test(test_timeline__nothing_is_lost_by_rounding),
		cmocka_unit_test(test_timeline__buckets_get_wider_when_there_are_too_many),
		cmocka_unit_test(test_timeline__processes_leave_room),
		cmocka_unit_test(test_timeline__refuses),
		cmocka_unit_test(test_timeline__merge),
		cmocka_unit_test(test_timeline__merge_without_room_for_all),
		cmocka_unit_test(test_timeline__through_notes),
		cmocka_unit_test(test_timeline__malformed_notes),
		cmocka_unit_test(test_timeline__more_lanes_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
