/* Tests of window_room.h: what comes into a window that is full is lost by itself, and all that came before is in the profile. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "tests/unit/window_tables.h"

#define SECOND_NS 1000000000ULL
#define ROOM      (1 << 20)
#define MANY      5000 /* of which each is some hundred bytes */
#define ROW_NS    100

static struct window_tables tables;
static const char *padding = "";

static int find_tag(struct tracer *tracer, uint64_t key, struct abi_tag *tag)
{
	(void)tracer;
	*tag = (struct abi_tag){ .id = key, .source = ABI_TAG_STALLTAG };
	snprintf(tag->name, sizeof(tag->name), "step%s", padding);
	return 0;
}

static int open_tables(void **state)
{
	int err = window_tables_open(&tables);

	(void)state;
	tables.fake.ops.find_tag = find_tag;
	tables.deps.max_bytes = ROOM;
	padding = "";
	return err;
}

static int close_tables(void **state)
{
	(void)state;
	window_tables_close(&tables);
	return 0;
}

static void add_row(struct window *window, uint64_t tag, int64_t ns)
{
	struct abi_ledger_key key = {
		.tag = tag, .tgid = (uint32_t)getpid(), .state = ABI_STALL, .cause = ABI_CAUSE_BLOCK_IO
	};
	struct abi_ledger_value value = { .ns = (uint64_t)ns, .count = 1 };

	assert_int_equal(window_add_row(window, &key, &value), 0);
}

/* A wait of that tag, with a stack of that address, `after` so many seconds. What adding it says. */
static int add_wait(struct window *window, uint64_t tag, uint64_t at, uint64_t after)
{
	struct abi_event event = { .kind = ABI_EVENT_WAIT,
		                   .flags = ABI_NO_USER_COPY,
		                   .time_ns = tables.deps.slices_from_ns + after * SECOND_NS,
		                   .duration_ns = ROW_NS,
		                   .weight_ns = ROW_NS,
		                   .tag = tag,
		                   .tgid = (uint32_t)getpid(),
		                   .tid = (uint32_t)getpid(),
		                   .state = ABI_STALL,
		                   .cause = ABI_CAUSE_BLOCK_IO };

	event.regs.ip = at;
	return window_add_event(window, &event);
}

/* What a finished window says. */
struct outcome {
	int64_t samples_ns, ledger_ns, timeline_ns;
	uint64_t samples, lost, refused_ns;
	size_t in_profile; /* samples */
};

static int64_t on_timeline(const struct profile *profile)
{
	struct timeline *timeline = timeline_new(0);
	const struct timeline_point *points;
	int64_t ns = 0;
	size_t count;

	assert_int_equal(timeline_from_notes(timeline, profile, NULL), 0);
	for (size_t i = 0; i < timeline_count(timeline); i++) {
		points = timeline_points(timeline, i, &count);
		for (size_t n = 0; n < count && timeline_lane_at(timeline, i)->kind == TIMELINE_STALL; n++)
			ns += points[n].value;
	}
	timeline_free(timeline);
	return ns;
}

static struct outcome finish(struct window *window)
{
	struct stamp *stamp = stamp_new(), *read_back = stamp_new();
	struct ledger *ledger = ledger_new(0);
	struct profile *profile = window_finish(window, stamp, 1700000000 * SECOND_NS, SECOND_NS);
	struct profile_sample_view view;
	struct outcome outcome = { .samples_ns = 0 };

	assert_non_null(profile);
	assert_in_range(profile_bytes(profile), 1, ROOM);
	assert_int_equal(stamp_from_notes(read_back, profile, NULL), 0);
	assert_int_equal(ledger_from_notes(ledger, profile, NULL), 0);
	for (size_t i = 0; profile_get_sample(profile, i, &view); i++)
		outcome.samples_ns += view.values[WINDOW_DELAY];
	outcome.in_profile = profile_n_samples(profile);
	outcome.ledger_ns = ledger_wall_ns(ledger, NULL);
	outcome.timeline_ns = on_timeline(profile);
	outcome.samples = stamp_counter(read_back, "samples");
	outcome.lost = stamp_counter(read_back, "samples_lost");
	outcome.refused_ns = stamp_counter(read_back, "rows_refused_ns");
	ledger_free(ledger);
	stamp_free(read_back);
	stamp_free(stamp);
	profile_free(profile);
	window_free(window);
	return outcome;
}

static void test_window_room__full_of_stacks(void **state)
{
	struct window *window = window_new(&tables.deps);
	struct outcome outcome;
	uint64_t lost = 0;

	(void)state;
	add_row(window, 1, MANY * ROW_NS);
	for (uint64_t n = 1; n <= MANY; n++) {
		int err = add_wait(window, 1, 0x1000 * n, 0);

		assert_true(!err || err == -ENOSPC);
		lost += err != 0;
	}
	assert_int_equal(add_wait(window, 1, 0x1000, 0), 0); /* as that one is there */
	for (uint64_t tag = 2; tag < 50; tag++)
		add_row(window, tag, ROW_NS); /* and there is room for rows */
	outcome = finish(window);
	assert_in_range(lost, 1, MANY - MANY / 10);
	assert_int_equal(outcome.lost, lost);
	assert_int_equal(outcome.samples, MANY - lost + 1);
	assert_int_equal(outcome.ledger_ns, MANY * ROW_NS + 48 * ROW_NS);
	assert_int_equal(outcome.samples_ns, outcome.ledger_ns);
	assert_int_equal(outcome.refused_ns, 0);
	assert_int_equal(outcome.timeline_ns, (MANY + 1) * ROW_NS); /* which needs no stacks */
}

/* Of many steps with the same few stacks: what takes the room comes into the profile only at the end. */
static void test_window_room__full_of_samples(void **state)
{
	struct window *window = window_new(&tables.deps);
	struct outcome outcome;
	uint64_t lost = 0;

	(void)state;
	for (uint64_t tag = 1; tag <= MANY / 10; tag++) {
		add_row(window, tag, 10 * ROW_NS);
		for (uint64_t n = 1; n <= 10; n++)
			lost += add_wait(window, tag, 0x1000 * n, 0) != 0;
	}
	outcome = finish(window);
	assert_in_range(lost, 1, MANY - MANY / 10);
	assert_int_equal(outcome.lost, lost);
	assert_int_equal(outcome.ledger_ns + (int64_t)outcome.refused_ns, MANY * ROW_NS);
	assert_int_equal(outcome.samples_ns, outcome.ledger_ns);
}

static void test_window_room__full_of_rows(void **state)
{
	struct window *window = window_new(&tables.deps);
	struct outcome outcome;

	(void)state;
	for (uint64_t tag = 1; tag <= MANY; tag++)
		add_row(window, tag, ROW_NS);
	outcome = finish(window);
	assert_in_range(outcome.refused_ns, ROW_NS, MANY * ROW_NS / 10 * 9);
	assert_int_equal(outcome.ledger_ns + (int64_t)outcome.refused_ns, MANY * ROW_NS);
	assert_int_equal(outcome.samples_ns, outcome.ledger_ns);
}

/* Where notes take more than was reckoned the ledger is whole, and what of the samples has no room is counted. */
static void test_window_room__the_ledger_comes_first(void **state)
{
	struct window *window;
	char quotes[240];
	struct outcome outcome;

	(void)state;
	memset(quotes, '"', sizeof(quotes) - 1); /* which are escaped */
	quotes[sizeof(quotes) - 1] = '\0';
	padding = quotes;
	window = window_new(&tables.deps);
	for (uint64_t tag = 1; tag <= MANY; tag++)
		add_row(window, tag, ROW_NS);
	outcome = finish(window);
	assert_int_equal(outcome.ledger_ns + (int64_t)outcome.refused_ns, MANY * ROW_NS);
	assert_in_range(outcome.lost, 1, MANY);
	assert_int_equal(outcome.samples_ns + (int64_t)outcome.lost * ROW_NS, outcome.ledger_ns);
}

/* Where slices become wider, samples that are equal then leave room for others. */
static void test_window_room__wider_slices_leave_room(void **state)
{
	struct window *window;
	struct outcome outcome;
	struct timespec now;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &now); /* the window's rows are of today */
	tables.deps.max_slices = 800;         /* half of them become free each time that they become wider */
	tables.deps.slices_from_ns = (uint64_t)now.tv_sec * SECOND_NS;
	window = window_new(&tables.deps);
	add_row(window, 1, ROW_NS);
	for (uint64_t second = 0; second < 8 * MANY; second++)
		assert_int_equal(add_wait(window, 1, 0x1000, second), 0);
	outcome = finish(window);
	assert_int_equal(outcome.samples, 8 * MANY);
	assert_in_range(outcome.in_profile, 400, 800);
	assert_int_equal(outcome.samples_ns, ROW_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_window_room__full_of_stacks, open_tables, close_tables),
		cmocka_unit_test_setup_teardown(test_window_room__full_of_samples, open_tables, close_tables),
		cmocka_unit_test_setup_teardown(test_window_room__full_of_rows, open_tables, close_tables),
		cmocka_unit_test_setup_teardown(test_window_room__the_ledger_comes_first, open_tables,
		                                close_tables),
		cmocka_unit_test_setup_teardown(test_window_room__wider_slices_leave_room, open_tables,
		                                close_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
