#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/ledger_row.h"
#include "profiler/stamp.h"
#include "tests/unit/window_tables.h"

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

static void add_row(struct window *window, uint64_t tag, uint64_t ns)
{
	struct abi_ledger_key key;
	struct abi_ledger_value value = { .ns = ns, .count = 1 };

	memset(&key, 0, sizeof(key));
	key.tag = tag;
	key.tgid = getpid();
	key.state = ABI_ONCPU;
	assert_int_equal(window_add_row(window, &key, &value), 0);
}

static struct profile *finish(struct window *window, struct stamp *read_back, struct ledger *ledger)
{
	struct stamp *stamp = stamp_new();
	struct profile *profile = window_finish(window, stamp, 1700000000000000000, 2500);

	assert_non_null(profile);
	assert_int_equal(stamp_from_notes(read_back, profile, NULL), 0);
	assert_int_equal(ledger_from_notes(ledger, profile, NULL), 0);
	stamp_free(stamp);
	window_free(window);
	return profile;
}

static void test_window__rows_beyond_the_maximum_are_counted(void **state)
{
	struct stamp *stamp = stamp_new();
	struct ledger *ledger = ledger_new(0);
	struct profile *profile;
	struct window *window;

	(void)state;
	tables.deps.max_rows = 3;
	window = window_new(&tables.deps);
	assert_non_null(window);
	for (uint64_t tag = 1; tag <= 5; tag++)
		add_row(window, tag, 100 * tag);
	add_row(window, 2, 1);
	profile = finish(window, stamp, ledger);
	assert_int_equal(ledger_count(ledger), 3);
	assert_int_equal(ledger_wall_ns(ledger, NULL), 601);
	assert_int_equal(stamp_counter(stamp, "rows_refused"), 2);
	assert_int_equal(stamp_counter(stamp, "rows_refused_ns"), 900);
	assert_int_equal(tables.fake.drops, 2);
	profile_free(profile);
	ledger_free(ledger);
	stamp_free(stamp);
}

/* What all samples sum to; none is of a row that has no time. */
static void assert_waits(struct window *window, int64_t want)
{
	struct stamp *stamp = stamp_new();
	struct ledger *ledger = ledger_new(0);
	struct profile *profile = finish(window, stamp, ledger);
	struct profile_sample_view view;
	int64_t sum = 0;

	for (size_t i = 0; profile_get_sample(profile, i, &view); i++)
		sum += view.values[WINDOW_DELAY];
	assert_int_equal(sum, want);
	profile_free(profile);
	ledger_free(ledger);
	stamp_free(stamp);
}

static void test_window__covers_the_duration_from_its_begin(void **state)
{
	struct stamp *stamp = stamp_new();
	struct ledger *ledger = ledger_new(0);
	struct window *window = window_new(&tables.deps);
	struct profile *profile;
	struct stamp_coverage coverage;

	(void)state;
	add_row(window, 1, 100);
	profile = finish(window, stamp, ledger);
	coverage = stamp_coverage(stamp);
	assert_int_equal(profile_time_ns(profile), 1700000000000000000);
	assert_int_equal(profile_duration_ns(profile), 2500);
	assert_int_equal(coverage.first_ns, 1700000000000000000);
	assert_int_equal(coverage.last_ns, 1700000000000002500);
	assert_int_equal(coverage.covered_ns, 2500);
	profile_free(profile);
	ledger_free(ledger);
	stamp_free(stamp);
}

/* Samples of waits that are no stalls: as long as the hooks saw them, and never longer than their row. */
static void test_window__waits_are_no_more_than_their_row(void **state)
{
	static const struct {
		int64_t row_ns, samples_ns, moved_ns, want;
	} rows[] = {
		{ 1000, 600, 0, 600 }, /* short waits have no stack */
		{ 1000, 1000, 0, 1000 }, { 1000, 1013, 0, 1000 },
		{ 0, 500, 0, 0 },        { -300, 0, 300, -300 }, /* of what an earlier window was told */
		{ 700, 1200, 300, 700 }, { 100, 400, 300, 100 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct abi_ledger_key key = {
			.tag = 1, .tgid = (uint32_t)getpid(), .state = ABI_SLEEP, .cause = ABI_WAIT_UNDECIDED
		};
		struct abi_event event = { .kind = ABI_EVENT_WAIT,
			                   .flags = ABI_NO_USER_COPY,
			                   .tag = 1,
			                   .tgid = key.tgid,
			                   .tid = key.tgid,
			                   .state = ABI_SLEEP,
			                   .cause = ABI_WAIT_UNDECIDED };
		struct abi_ledger_value value = { .ns = (uint64_t)rows[i].row_ns, .count = 1 };
		struct window *window;

		window = window_new(&tables.deps);
		event.regs.ip = (uintptr_t)add_row;
		assert_int_equal(window_add_row(window, &key, &value), 0);
		for (int half = 0; half < 2 && rows[i].samples_ns; half++) {
			event.duration_ns = event.weight_ns = (uint64_t)(rows[i].samples_ns + half) / 2;
			event.regs.ip = (uintptr_t)(half ? (void *)add_row : (void *)close_tables);
			assert_int_equal(window_add_event(window, &event), 0);
		}
		if (rows[i].moved_ns) {
			event.duration_ns = event.weight_ns = (uint64_t)rows[i].moved_ns;
			event.moved_ns = rows[i].moved_ns;
			event.moved_state = ABI_SLEEP;
			event.moved_cause = ABI_WAIT_UNDECIDED;
			event.cause = ABI_WAIT_POLL;
			assert_int_equal(window_add_event(window, &event), 0);
		}
		assert_waits(window, rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_window__rows_beyond_the_maximum_are_counted, open_tables,
		                                close_tables),
		cmocka_unit_test_setup_teardown(test_window__covers_the_duration_from_its_begin, open_tables,
		                                close_tables),
		cmocka_unit_test_setup_teardown(test_window__waits_are_no_more_than_their_row, open_tables,
		                                close_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
