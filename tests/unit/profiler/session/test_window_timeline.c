/* Tests of window_timeline.h: what a window's profile says of the time at which something was. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "symbolizer/base/clock.h"
#include "tests/unit/window_tables.h"

#define SECOND_NS 1000000000ULL

static struct window_tables tables;

static int open_tables(void **state)
{
	(void)state;
	return window_tables_open(&tables);
}

static int close_tables(void **state)
{
	(void)state;
	window_tables_close(&tables);
	return 0;
}

static struct abi_ledger_key key_of(uint32_t state, uint64_t tag)
{
	struct abi_ledger_key key;

	memset(&key, 0, sizeof(key));
	key.tag = tag;
	key.tgid = (uint32_t)getpid();
	key.state = state;
	key.cause = state == ABI_STALL ? ABI_CAUSE_BLOCK_IO : 0;
	return key;
}

static void add_row(struct window *window, uint32_t state, uint64_t tag, int64_t ns)
{
	struct abi_ledger_key key = key_of(state, tag);
	struct abi_ledger_value value = { .ns = ns, .count = 1 };

	assert_int_equal(window_add_row(window, &key, &value), 0);
}

/* What a window is told of a wait that ends, or that its end cuts, at end_ns. */
static struct abi_event wait_event(uint32_t state, uint32_t cause, uint64_t end_ns, uint64_t ns)
{
	struct abi_event event = { .kind = ABI_EVENT_WAIT,
		                   .flags = ABI_NO_USER_COPY,
		                   .tag = 1,
		                   .tgid = (uint32_t)getpid(),
		                   .tid = (uint32_t)getpid(),
		                   .state = (uint16_t)state,
		                   .cause = (uint16_t)cause,
		                   .time_ns = end_ns,
		                   .duration_ns = ns,
		                   .weight_ns = ns };

	event.regs.ip = 0x1000;
	return event;
}

static void add_stall(struct window *window, uint64_t end_ns, uint64_t ns)
{
	struct abi_event event = wait_event(ABI_STALL, ABI_CAUSE_BLOCK_IO, end_ns, ns);

	assert_int_equal(window_add_event(window, &event), 0);
}

static struct profile *finish(struct window *window)
{
	struct stamp *stamp = stamp_new();
	struct profile *profile = window_finish(window, stamp, unix_ns(), SECOND_NS);

	assert_non_null(profile);
	assert_int_equal(stamp_counter(stamp, "timeline_refused"), 0);
	stamp_free(stamp);
	window_free(window);
	return profile;
}

/* The sum of a kind's points, the first of which begins at `begin_ns` (Unix time), or up to 20 ms later. */
static void expect_lane(const struct timeline *timeline, enum timeline_kind kind, uint64_t begin_ns,
                        int64_t want)
{
	int64_t sum = 0;

	for (size_t i = 0; i < timeline_count(timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);
		const struct timeline_point *points;
		size_t count;

		if (lane->kind != kind)
			continue;
		points = timeline_points(timeline, i, &count);
		begin_ns -= begin_ns % lane->bucket_ns;
		assert_in_range(points[0].begin_ns, begin_ns, begin_ns + lane->bucket_ns + 20000000);
		for (size_t k = 0; k < count; k++)
			sum += points[k].value;
	}
	assert_int_equal(sum, want);
}

static void test_window_timeline__says_when(void **state)
{
	struct window *window = window_new(&tables.deps);
	struct timeline *timeline = timeline_new(0);
	uint64_t now = monotonic_ns(), unix_now = unix_ns();
	struct profile *profile;

	(void)state;
	add_row(window, ABI_ONCPU, 1, 300);
	add_row(window, ABI_ONCPU, 2, 40);
	add_row(window, ABI_RUNQ, 1, 5);
	window_rows_taken(window, now, now + SECOND_NS);
	add_row(window, ABI_ONCPU, 2, 2); /* no step that was not there before */
	add_row(window, ABI_STALL, 1, 90000000);
	window_rows_taken(window, now + SECOND_NS, now + 2 * SECOND_NS);
	add_stall(window, now + SECOND_NS, 90000000);
	profile = finish(window);
	assert_int_equal(timeline_from_notes(timeline, profile, NULL), 0);
	expect_lane(timeline, TIMELINE_STALL, unix_now + SECOND_NS - 90000000, 90000000);
	expect_lane(timeline, TIMELINE_ONCPU, unix_now, 342);
	expect_lane(timeline, TIMELINE_RUNQUEUE, unix_now, 5);
	expect_lane(timeline, TIMELINE_STEPS, unix_now, 2);
	timeline_free(timeline);
	profile_free(profile);
}

/* A CPU sample in a call that waits for a GPU is a wait; one beside a request that is under way is work. */
static void test_window_timeline__waits_on_a_cpu(void **state)
{
	static const struct {
		uint32_t cause;
		int64_t want;
	} cases[] = { { ABI_CAUSE_GPU_SYNC, 10000000 },
		      { ABI_CAUSE_COLLECTIVE, 10000000 },
		      { ABI_CAUSE_BLOCK_IO, 0 },
		      { ABI_CAUSE_DMA_MAP, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct window *window = window_new(&tables.deps);
		struct timeline *timeline = timeline_new(0);
		uint64_t now = monotonic_ns(), unix_now = unix_ns();
		struct abi_event event = wait_event(ABI_CPU_STALL, cases[i].cause, now + SECOND_NS, 10000000);
		struct profile *profile;

		event.kind = ABI_EVENT_CPU;
		add_row(window, ABI_ONCPU, 1, 300);
		window_rows_taken(window, now, now + SECOND_NS);
		assert_int_equal(window_add_event(window, &event), 0);
		profile = finish(window);
		assert_int_equal(timeline_from_notes(timeline, profile, NULL), 0);
		expect_lane(timeline, TIMELINE_SPIN, unix_now + SECOND_NS - 10000000, cases[i].want);
		expect_lane(timeline, TIMELINE_STALL, unix_now, 0);
		expect_lane(timeline, TIMELINE_ONCPU, unix_now, 300);
		timeline_free(timeline);
		profile_free(profile);
	}
}

/* The sum of all points of a kind in a window in which the tag runs. */
static int64_t sum_of_window(enum timeline_kind kind, uint64_t tag)
{
	struct window *window = window_new(&tables.deps);
	struct timeline *timeline = timeline_new(0);
	uint64_t now = monotonic_ns();
	struct profile *profile;
	int64_t sum = 0;

	add_row(window, ABI_ONCPU, tag, 300);
	window_rows_taken(window, now, now + SECOND_NS);
	profile = finish(window);
	assert_int_equal(timeline_from_notes(timeline, profile, NULL), 0);
	for (size_t i = 0; i < timeline_count(timeline); i++) {
		size_t count;
		const struct timeline_point *points = timeline_points(timeline, i, &count);

		for (size_t k = 0; k < count && timeline_lane_at(timeline, i)->kind == kind; k++)
			sum += points[k].value;
	}
	timeline_free(timeline);
	profile_free(profile);
	return sum;
}

static void add_user(struct window *window, uint32_t tgid, int64_t ns)
{
	struct abi_ledger_key key = { .tag = ABI_NOBODYS_TAG, .state = ABI_CPU_USER, .tgid = tgid };
	struct abi_ledger_value value = { .ns = ns, .count = 1 };

	assert_int_equal(window_add_row(window, &key, &value), 0);
}

/* Of processes, tagged or not: the large ones by name. They are no rows of the ledger. */
static void test_window_timeline__who_used_the_cpus(void **state)
{
	struct timeline *timeline = timeline_new(0);
	uint64_t now = monotonic_ns();
	struct profile *profile;
	struct window *window;
	size_t users = 0;
	char own[64];

	(void)state;
	tables.deps.host_users = true;
	window = window_new(&tables.deps);
	add_user(window, (uint32_t)getpid(), 600000000);
	add_user(window, (uint32_t)getpid(), 100000000);
	add_user(window, 1, 1000000);
	add_user(window, 2, 2000000);
	window_rows_taken(window, now, now + SECOND_NS);
	profile = finish(window);
	assert_int_equal(timeline_from_notes(timeline, profile, NULL), 0);
	snprintf(own, sizeof(own), "(%d)", getpid());
	for (size_t i = 0; i < timeline_count(timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);
		size_t count;
		const struct timeline_point *points = timeline_points(timeline, i, &count);
		int64_t sum = 0;

		assert_int_equal(lane->kind, TIMELINE_SIGNAL);
		assert_string_equal(lane->name, HOST_USER_CPU);
		for (size_t k = 0; k < count; k++)
			sum += points[k].value;
		assert_int_equal(sum, strstr(lane->class, own) ? 700000000 : 3000000);
		users++;
	}
	assert_int_equal(users, 2);
	timeline_free(timeline);
	profile_free(profile);
}

/* In a long recording beside many short processes whoever comes late has a name, too. */
static void test_window_timeline__many_users_of_the_host(void **state)
{
	uint64_t now = monotonic_ns();
	struct timeline *timeline = timeline_new(0);
	struct window *window;
	struct profile *profile;
	bool found = false;
	char own[32];

	(void)state;
	tables.deps.host_users = true;
	window = window_new(&tables.deps);
	for (uint32_t pid = 4000000; pid < 4000100; pid++) {
		add_user(window, pid, 500000000);
		window_rows_taken(window, now, now + SECOND_NS);
		now += SECOND_NS;
	}
	add_user(window, (uint32_t)getpid(), 500000000);
	window_rows_taken(window, now, now + SECOND_NS);
	profile = finish(window);
	assert_int_equal(timeline_from_notes(timeline, profile, NULL), 0);
	snprintf(own, sizeof(own), "(%d)", getpid());
	for (size_t i = 0; i < timeline_count(timeline); i++)
		found |= strstr(timeline_lane_at(timeline, i)->class, own) != NULL;
	assert_true(found);
	timeline_free(timeline);
	profile_free(profile);
}

static void test_window_timeline__a_tag_is_one_step_in_all_windows(void **state)
{
	(void)state;
	assert_int_equal(sum_of_window(TIMELINE_STEPS, 11), 1);
	assert_int_equal(sum_of_window(TIMELINE_STEPS, 11), 0);
	assert_int_equal(sum_of_window(TIMELINE_ONCPU, 11), 300);
	assert_int_equal(sum_of_window(TIMELINE_STEPS, 12), 1);
}

/* Adds the timeline of a window that is told of the wait alone. */
static void add_window_of(struct timeline *timeline, const struct abi_event *event)
{
	struct window *window = window_new(&tables.deps);
	struct profile *profile;

	assert_int_equal(window_add_event(window, event), 0);
	profile = finish(window);
	assert_int_equal(timeline_from_notes(timeline, profile, NULL), 0);
	profile_free(profile);
}

/* The sum of the points of all lanes of that name. */
static int64_t sum_of_lane(const struct timeline *timeline, const char *name)
{
	int64_t sum = 0;

	for (size_t i = 0; i < timeline_count(timeline); i++) {
		size_t count;
		const struct timeline_point *points = timeline_points(timeline, i, &count);

		for (size_t k = 0; k < count && !strcmp(timeline_lane_at(timeline, i)->name, name); k++)
			sum += points[k].value;
	}
	return sum;
}

/* How much a wait of one thread has at most in a bucket, whatever it was told as. */
static int64_t most_in_a_bucket(const struct timeline *timeline)
{
	int64_t sums[64] = { 0 }, most = 0;
	uint64_t first_ns = UINT64_MAX;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < timeline_count(timeline); i++) {
			size_t count;
			const struct timeline_point *points = timeline_points(timeline, i, &count);

			for (size_t k = 0; k < count; k++) {
				if (points[k].begin_ns < first_ns)
					first_ns = points[k].begin_ns;
				if (pass)
					sums[(points[k].begin_ns - first_ns) / TIMELINE_WAITS_BUCKET_NS] +=
					        points[k].value;
			}
		}
	for (size_t i = 0; i < 64; i++)
		most = sums[i] > most ? sums[i] : most;
	return most;
}

/* A wait of which two windows were told as something else than what it turns out to be in the third. */
static void test_window_timeline__a_cut_wait_is_there_once(void **state)
{
	static const struct {
		uint32_t state, cause, dev;
	} seemed[] = { { ABI_STALL, ABI_CAUSE_BLOCK_IO, 8 << 20 }, { ABI_SLEEP, ABI_WAIT_UNDECIDED, 0 } };
	const uint64_t part_ns = 100000000;

	(void)state;
	for (size_t i = 0; i < sizeof(seemed) / sizeof(*seemed); i++) {
		struct timeline *timeline = timeline_new(0);
		uint64_t now = monotonic_ns();
		struct abi_event event =
		        wait_event(ABI_STALL, ABI_CAUSE_NVME_TIMEOUT, now + 3 * part_ns, 3 * part_ns);

		for (uint64_t n = 1; n <= 2; n++) {
			struct abi_event part =
			        wait_event(seemed[i].state, seemed[i].cause, now + n * part_ns, part_ns);

			part.kind = ABI_EVENT_INFLIGHT;
			part.dev = seemed[i].dev;
			add_window_of(timeline, &part);
		}
		event.dev = 8 << 20;
		event.moved_dev = seemed[i].dev;
		event.moved_ns = 2 * (int64_t)part_ns;
		event.moved_state = (uint16_t)seemed[i].state;
		event.moved_cause = (uint16_t)seemed[i].cause;
		add_window_of(timeline, &event);
		assert_int_equal(timeline_count(timeline), 2);
		assert_int_equal(sum_of_lane(timeline, window_cause_name(seemed[i].cause)), 0);
		assert_int_equal(sum_of_lane(timeline, "nvme_timeout"), 3 * part_ns);
		/* Each window has the offset of its two clocks by a look of its own. */
		assert_in_range(most_in_a_bucket(timeline), TIMELINE_WAITS_BUCKET_NS - 1000000,
		                TIMELINE_WAITS_BUCKET_NS + 1000000);
		timeline_free(timeline);
	}
}

/* The label `at` of a sample; -1: it has none. */
static int64_t at_of(const struct profile *profile, size_t sample)
{
	struct profile_sample_view view;

	assert_true(profile_get_sample(profile, sample, &view));
	for (size_t i = 0; i < view.n_labels; i++) {
		if (!strcmp(view.labels[i].key, "at"))
			return view.labels[i].num;
	}
	return -1;
}

static void test_window_timeline__samples_are_in_slices(void **state)
{
	struct window *window;
	struct profile *profile;
	struct profile_sample_view view;
	uint64_t now;
	int64_t sum = 0;

	(void)state;
	tables.deps.max_slices = 4;
	window = window_new(&tables.deps);
	now = monotonic_ns();
	add_row(window, ABI_STALL, 1, 1500);
	for (uint64_t i = 0; i < 15; i++)
		add_stall(window, now + i * SECOND_NS, 100);
	profile = finish(window);
	assert_int_equal(profile_n_samples(profile), 4); /* of 4 s each */
	for (size_t i = 0; profile_get_sample(profile, i, &view); i++) {
		assert_int_equal(at_of(profile, i), at_of(profile, 0) + 4 * (int64_t)i);
		assert_int_equal(view.values[WINDOW_DELAY], i < 3 ? 400 : 300);
		sum += view.values[WINDOW_DELAY];
	}
	assert_int_equal(sum, 1500);
	assert_in_range(at_of(profile, 0), unix_ns() / SECOND_NS - 2, unix_ns() / SECOND_NS);
	profile_free(profile);
}

/* Windows of one recording count slices from its begin, whenever they themselves began. */
static void test_window_timeline__one_origin_of_slices(void **state)
{
	const uint64_t unix_begin_ns = 1700000000 * SECOND_NS + 700000000, begin_ns = monotonic_ns();
	struct window *window;
	struct profile *profile;

	(void)state;
	tables.deps.max_slices = 100;
	window = window_new(&tables.deps);
	window_slices_from(window, begin_ns, unix_begin_ns);
	add_row(window, ABI_STALL, 1, 300);
	add_stall(window, begin_ns + 1, 100);
	add_stall(window, begin_ns + SECOND_NS - 1, 100);
	add_stall(window, begin_ns + 7 * SECOND_NS, 100);
	profile = finish(window);
	assert_int_equal(profile_n_samples(profile), 2);
	assert_int_equal(at_of(profile, 0), 1700000000);
	assert_int_equal(at_of(profile, 1), 1700000007);
	profile_free(profile);
}

/* Time of which no wait was kept lies where its row came first, as a step's row does not come again. */
static void test_window_timeline__unsampled_rows_are_in_slices(void **state)
{
	struct window *window;
	struct profile *profile;
	uint64_t now = monotonic_ns();

	(void)state;
	tables.deps.max_slices = 100;
	window = window_new(&tables.deps);
	window_slices_from(window, now, 1700000000 * SECOND_NS);
	for (uint64_t i = 0; i < 3; i++) {
		add_row(window, ABI_STALL, 10 + i, 300);
		add_row(window, ABI_STALL, 10, 300);
		now += 5 * SECOND_NS;
		window_rows_taken(window, now - 5 * SECOND_NS, now);
	}
	profile = finish(window);
	assert_int_equal(profile_n_samples(profile), 3);
	for (size_t i = 0; i < 3; i++)
		assert_in_range(at_of(profile, i), 1700000000 + 5 * i, 1700000001 + 5 * i);
	profile_free(profile);
}

static void test_window_timeline__no_slices_unless_asked_for(void **state)
{
	struct window *window = window_new(&tables.deps);
	struct profile *profile;
	uint64_t now = monotonic_ns();

	(void)state;
	add_row(window, ABI_STALL, 1, 200);
	add_stall(window, now, 100);
	add_stall(window, now + 5 * SECOND_NS, 100);
	profile = finish(window);
	assert_int_equal(profile_n_samples(profile), 1);
	assert_int_equal(at_of(profile, 0), -1);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_window_timeline__says_when, open_tables, close_tables),
		cmocka_unit_test_setup_teardown(test_window_timeline__waits_on_a_cpu, open_tables,
		                                close_tables),
		cmocka_unit_test_setup_teardown(test_window_timeline__who_used_the_cpus, open_tables,
		                                close_tables),
		cmocka_unit_test_setup_teardown(test_window_timeline__many_users_of_the_host, open_tables,
		                                close_tables),
		cmocka_unit_test_setup_teardown(test_window_timeline__a_tag_is_one_step_in_all_windows,
		                                open_tables, close_tables),
		cmocka_unit_test_setup_teardown(test_window_timeline__a_cut_wait_is_there_once, open_tables,
		                                close_tables),
		cmocka_unit_test_setup_teardown(test_window_timeline__samples_are_in_slices, open_tables,
		                                close_tables),
		cmocka_unit_test_setup_teardown(test_window_timeline__one_origin_of_slices, open_tables,
		                                close_tables),
		cmocka_unit_test_setup_teardown(test_window_timeline__unsampled_rows_are_in_slices,
		                                open_tables, close_tables),
		cmocka_unit_test_setup_teardown(test_window_timeline__no_slices_unless_asked_for, open_tables,
		                                close_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
