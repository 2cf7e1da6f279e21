/* Tests of window.h: samples are scaled so that they add up to the rows of the ledger. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/request_rows.h"
#include "profiler/format/stamp.h"
#include "symbolizer/base/clock.h"
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

static void add_requests(struct window *window, uint64_t tag, unsigned int kind, uint64_t count,
                         uint64_t bytes)
{
	struct abi_ledger_key key;
	struct abi_ledger_value value = { .ns = 7, .count = count, .bytes = bytes };

	memset(&key, 0, sizeof(key));
	key.tag = tag;
	key.state = ABI_REQUESTS;
	key.cause = kind;
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
	assert_true(coverage.booted_ns > 0 && coverage.booted_ns < unix_ns());
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

/* --- a row's samples are the row ------------------------------------------------------------------------- */

/* The sum of one type over the samples of a cause. */
static int64_t sum_of(const struct profile *profile, enum window_type type, unsigned int cause)
{
	struct profile_sample_view view;
	int64_t sum = 0;

	for (size_t i = 0; profile_get_sample(profile, i, &view); i++)
		for (size_t k = 0; k < view.n_labels; k++)
			if (!strcmp(view.labels[k].key, "stall") &&
			    !strcmp(view.labels[k].str, window_cause_name(cause)))
				sum += view.values[type];
	return sum;
}

static void add_stall_row(struct window *window, uint32_t state, uint32_t cause, int64_t ns, uint64_t count)
{
	struct abi_ledger_key key = { .tag = 1, .tgid = (uint32_t)getpid(), .state = state, .cause = cause };
	struct abi_ledger_value value = { .ns = (uint64_t)ns, .count = count };

	assert_int_equal(window_add_row(window, &key, &value), 0);
}

/* `at`: any address, as each is a stack of its own. */
static struct abi_event stall(uint32_t state, uint32_t cause, uint64_t at, uint64_t duration_ns,
                              uint64_t weight_ns)
{
	struct abi_event event = { .kind = ABI_EVENT_WAIT,
		                   .flags = ABI_NO_USER_COPY,
		                   .tag = 1,
		                   .tgid = (uint32_t)getpid(),
		                   .tid = (uint32_t)getpid(),
		                   .state = state,
		                   .cause = cause,
		                   .duration_ns = duration_ns,
		                   .weight_ns = weight_ns };

	event.regs.ip = at;
	return event;
}

/* Whatever the samples weigh, and however that divides: nothing is lost by rounding, in time nor in number. */
static void test_window__samples_add_up_to_their_row(void **state)
{
	static const int64_t rows[] = { 1, 7, 1000, 999999937, 86400000000000, -1000003 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct window *window = window_new(&tables.deps);
		struct stamp *stamp = stamp_new();
		struct ledger *ledger = ledger_new(0);
		struct profile *profile;

		add_stall_row(window, ABI_STALL, ABI_CAUSE_BLOCK_IO, rows[i], 17);
		add_stall_row(window, ABI_STALL, ABI_CAUSE_JOURNAL, 2 * rows[i], 1);
		for (uint64_t n = 1; n <= 7; n++) {
			struct abi_event event =
			        stall(ABI_STALL, ABI_CAUSE_BLOCK_IO, 0x100 * n, 3 * n, 7 * n);

			assert_int_equal(window_add_event(window, &event), 0);
		}
		profile = finish(window, stamp, ledger);
		assert_int_equal(sum_of(profile, WINDOW_DELAY, ABI_CAUSE_BLOCK_IO), rows[i]);
		assert_int_equal(sum_of(profile, WINDOW_CONTENTIONS, ABI_CAUSE_BLOCK_IO), 17);
		assert_int_equal(sum_of(profile, WINDOW_DELAY, ABI_CAUSE_JOURNAL), 2 * rows[i]);
		assert_int_equal(sum_of(profile, WINDOW_CONTENTIONS, ABI_CAUSE_JOURNAL), 1);
		assert_int_equal(stamp_counter(stamp, "samples"), 7);
		profile_free(profile);
		ledger_free(ledger);
		stamp_free(stamp);
	}
}

/* A sample that stands for twice the time of another has twice its share. */
static void test_window__shares_are_by_weight(void **state)
{
	struct window *window = window_new(&tables.deps);
	struct abi_event light = stall(ABI_STALL, ABI_CAUSE_BLOCK_IO, 0x100, 100, 100);
	struct abi_event heavy = stall(ABI_STALL, ABI_CAUSE_BLOCK_IO, 0x200, 100, 300);
	struct stamp *stamp = stamp_new();
	struct ledger *ledger = ledger_new(0);
	struct profile_sample_view view;
	struct profile *profile;

	(void)state;
	add_stall_row(window, ABI_STALL, ABI_CAUSE_BLOCK_IO, 8000, 8);
	assert_int_equal(window_add_event(window, &light), 0);
	assert_int_equal(window_add_event(window, &heavy), 0);
	profile = finish(window, stamp, ledger);
	assert_int_equal(profile_n_samples(profile), 2);
	for (size_t i = 0; profile_get_sample(profile, i, &view); i++) {
		assert_true(view.values[WINDOW_DELAY] == 2000 || view.values[WINDOW_DELAY] == 6000);
		assert_int_equal(view.values[WINDOW_CONTENTIONS], view.values[WINDOW_DELAY] / 1000);
	}
	profile_free(profile);
	ledger_free(ledger);
	stamp_free(stamp);
}

/* What earlier windows were told of a wait as another kind is moved to the row of what it was, with its stack. */
static void test_window__what_was_moved_adds_up(void **state)
{
	struct window *window = window_new(&tables.deps);
	struct abi_event moved = stall(ABI_STALL, ABI_CAUSE_JOURNAL, 0x100, 100, 100);
	struct abi_event other = stall(ABI_STALL, ABI_CAUSE_BLOCK_IO, 0x200, 100, 100);
	struct stamp *stamp = stamp_new();
	struct ledger *ledger = ledger_new(0);
	struct profile *profile;

	(void)state;
	moved.moved_ns = 300;
	moved.moved_state = ABI_STALL;
	moved.moved_cause = ABI_CAUSE_BLOCK_IO;
	add_stall_row(window, ABI_STALL, ABI_CAUSE_BLOCK_IO, -1200, 1);
	add_stall_row(window, ABI_STALL, ABI_CAUSE_JOURNAL, 1600, 1);
	assert_int_equal(window_add_event(window, &moved), 0);
	assert_int_equal(window_add_event(window, &other), 0);
	profile = finish(window, stamp, ledger);
	assert_int_equal(sum_of(profile, WINDOW_DELAY, ABI_CAUSE_BLOCK_IO), -1200);
	assert_int_equal(sum_of(profile, WINDOW_DELAY, ABI_CAUSE_JOURNAL), 1600);
	profile_free(profile);
	ledger_free(ledger);
	stamp_free(stamp);
}

/* The one sample whose stack is that address. */
static struct profile_sample_view sample_at(const struct profile *profile, uint64_t at)
{
	struct profile_sample_view view, found = { .values = NULL };
	struct profile_location_view leaf;

	for (size_t i = 0; profile_get_sample(profile, i, &view); i++) {
		assert_true(profile_get_location(profile, view.location_ids[0], &leaf));
		if (leaf.address != at)
			continue;
		assert_null(found.values);
		found = view;
	}
	assert_non_null(found.values);
	return found;
}

/* Taking back leaves the stacks of other waits alone, whether the row's own were sampled or not. */
static void test_window__what_was_moved_is_of_its_own_stack(void **state)
{
	(void)state;
	for (int sampled = 0; sampled < 2; sampled++) {
		struct window *window = window_new(&tables.deps);
		struct abi_event moved = stall(ABI_STALL, ABI_CAUSE_NVME_TIMEOUT, 0x100, 400, 400);
		struct abi_event own = stall(ABI_STALL, ABI_CAUSE_BLOCK_IO, 0x200, 50, 50);
		struct stamp *stamp = stamp_new();
		struct ledger *ledger = ledger_new(0);
		struct profile_sample_view view;
		struct profile *profile;

		moved.moved_ns = 300;
		moved.moved_state = ABI_STALL;
		moved.moved_cause = ABI_CAUSE_BLOCK_IO;
		add_stall_row(window, ABI_STALL, ABI_CAUSE_BLOCK_IO, 100 - 300, 2);
		assert_int_equal(window_add_event(window, &moved), 0);
		if (sampled)
			assert_int_equal(window_add_event(window, &own), 0);
		profile = finish(window, stamp, ledger);
		assert_int_equal(profile_n_samples(profile), 2);
		assert_int_equal(sum_of(profile, WINDOW_DELAY, ABI_CAUSE_BLOCK_IO), -200);
		view = sample_at(profile, 0x100);
		assert_int_equal(view.values[WINDOW_DELAY], -300);
		assert_int_equal(view.values[WINDOW_CONTENTIONS], 0);
		view = sample_at(profile, sampled ? 0x200 : 0); /* 0: [not sampled] */
		assert_int_equal(view.values[WINDOW_DELAY], 100);
		assert_int_equal(view.values[WINDOW_CONTENTIONS], 2);
		profile_free(profile);
		ledger_free(ledger);
		stamp_free(stamp);
	}
}

/* Waits with the same stack for different fences are samples of their own. */
static void test_window__details_are_apart(void **state)
{
	struct {
		struct abi_event event;
		struct abi_detail detail;
	} sent = { .event = stall(ABI_STALL, ABI_CAUSE_GPU_FENCE, 0x100, 100, 100),
		   .detail = { .cause = ABI_CAUSE_GPU_FENCE, .known = 1U << ABI_GPU_SEQNO } };
	static const uint64_t seqnos[] = { 1, 2, 1, 0 }; /* 0: it came without */
	struct window *window = window_new(&tables.deps);
	struct stamp *stamp = stamp_new();
	struct ledger *ledger = ledger_new(0);
	struct profile_sample_view view;
	struct profile *profile;
	int64_t by_seqno[3] = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(seqnos) / sizeof(seqnos[0]); i++) {
		sent.event.has_detail = seqnos[i] != 0;
		sent.detail.number[ABI_GPU_SEQNO] = seqnos[i];
		assert_int_equal(window_add_event(window, &sent.event), 0);
	}
	add_stall_row(window, ABI_STALL, ABI_CAUSE_GPU_FENCE, 400, 4);
	profile = finish(window, stamp, ledger);
	assert_int_equal(profile_n_samples(profile), 3);
	for (size_t i = 0; profile_get_sample(profile, i, &view); i++) {
		int64_t seqno = 0;

		for (size_t j = 0; j < view.n_labels; j++)
			if (!strcmp(view.labels[j].key, "seqno"))
				seqno = view.labels[j].num;
		assert_in_range(seqno, 0, 2);
		by_seqno[seqno] += view.values[WINDOW_DELAY];
	}
	assert_int_equal(by_seqno[0], 100);
	assert_int_equal(by_seqno[1], 200);
	assert_int_equal(by_seqno[2], 100);
	profile_free(profile);
	ledger_free(ledger);
	stamp_free(stamp);
}

/* On-CPU time inside stalls is a part of on-CPU: it has samples of its type, and no row in the ledger. */
static void test_window__cpu_inside_stalls(void **state)
{
	struct window *window = window_new(&tables.deps);
	struct abi_event event = stall(ABI_CPU_STALL, ABI_CAUSE_BLOCK_IO, 0x100, 100, 100);
	struct stamp *stamp = stamp_new();
	struct ledger *ledger = ledger_new(0);
	int64_t stalled[ABI_CAUSE_MAX];
	struct profile *profile;

	(void)state;
	event.kind = ABI_EVENT_CPU;
	add_stall_row(window, ABI_ONCPU, 0, 5000, 1);
	add_stall_row(window, ABI_CPU_STALL, ABI_CAUSE_BLOCK_IO, 3000, 1);
	add_stall_row(window, ABI_STALL, ABI_CAUSE_BLOCK_IO, 2000, 1);
	assert_int_equal(window_add_event(window, &event), 0);
	window_stalled(window, stalled);
	assert_int_equal(stalled[ABI_CAUSE_BLOCK_IO], 2000);
	assert_int_equal(window_samples(window), 1);
	profile = finish(window, stamp, ledger);
	assert_int_equal(sum_of(profile, WINDOW_CPU, ABI_CAUSE_BLOCK_IO), 3000);
	assert_int_equal(sum_of(profile, WINDOW_DELAY, ABI_CAUSE_BLOCK_IO), 2000);
	assert_int_equal(ledger_count(ledger), 2);
	assert_int_equal(ledger_wall_ns(ledger, NULL), 7000);
	profile_free(profile);
	ledger_free(ledger);
	stamp_free(stamp);
}

/* Where samples of CPUs are left out, the others weigh more: each has its share of the row, whose sum is exact. */
static void test_window__cpu_samples_that_stand_for_others(void **state)
{
	struct window *window = window_new(&tables.deps);
	struct abi_event kept = stall(ABI_CPU_STALL, ABI_CAUSE_BLOCK_IO, 0x100, 100, 100),
	                 stands_for = stall(ABI_CPU_STALL, ABI_CAUSE_BLOCK_IO, 0x200, 100, 1600);
	struct stamp *stamp = stamp_new();
	struct ledger *ledger = ledger_new(0);
	struct profile_sample_view view;
	struct profile *profile;
	int64_t least = INT64_MAX;

	(void)state;
	kept.kind = stands_for.kind = ABI_EVENT_CPU;
	add_stall_row(window, ABI_CPU_STALL, ABI_CAUSE_BLOCK_IO, 3401, 34);
	assert_int_equal(window_add_event(window, &kept), 0);
	assert_int_equal(window_add_event(window, &kept), 0);
	assert_int_equal(window_add_event(window, &stands_for), 0);
	assert_int_equal(window_add_event(window, &stands_for), 0);
	profile = finish(window, stamp, ledger);
	assert_int_equal(sum_of(profile, WINDOW_CPU, ABI_CAUSE_BLOCK_IO), 3401);
	for (size_t i = 0; profile_get_sample(profile, i, &view); i++)
		least = view.values[WINDOW_CPU] < least ? view.values[WINDOW_CPU] : least;
	assert_int_equal(least, 200);
	profile_free(profile);
	ledger_free(ledger);
	stamp_free(stamp);
}

/* Whether one of the samples has the label. */
static bool has_label(const struct profile *profile, const char *key)
{
	struct profile_sample_view view;

	for (size_t i = 0; profile_get_sample(profile, i, &view); i++)
		for (size_t k = 0; k < view.n_labels; k++)
			if (!strcmp(view.labels[k].key, key))
				return true;
	return false;
}

/* What a kernel thread does to end a reset is in no delay and no row, and bears the tag that waits for that device, if one does. */
static void test_window__recovery_is_nobodys_time(void **state)
{
	for (uint32_t dev = 0; dev < 2; dev++) {
		struct window *window = window_new(&tables.deps);
		struct abi_event event = stall(ABI_RECOVERY, ABI_CAUSE_NVME_RESET, 0x100, 100, 100);
		struct stamp *stamp = stamp_new();
		struct ledger *ledger = ledger_new(0);
		struct profile *profile;

		(void)state;
		event.flags = ABI_KERNEL_THREAD;
		event.tag = 0;
		event.dev = dev;
		memcpy(event.comm, "kworker/0:1", sizeof("kworker/0:1"));
		add_stall_row(window, ABI_STALL, ABI_CAUSE_NVME_RESET, 2000, 1);
		assert_int_equal(window_add_event(window, &event), 0);
		event.weight_ns = event.duration_ns = 50;
		assert_int_equal(window_add_event(window, &event), 0);
		profile = finish(window, stamp, ledger);
		assert_int_equal(sum_of(profile, WINDOW_RECOVERY, ABI_CAUSE_NVME_RESET), 150);
		assert_int_equal(sum_of(profile, WINDOW_DELAY, ABI_CAUSE_NVME_RESET), 2000);
		assert_int_equal(sum_of(profile, WINDOW_CPU, ABI_CAUSE_NVME_RESET), 0);
		assert_int_equal(has_label(profile, "holds_up"), dev == 0);
		assert_true(has_label(profile, "worker"));
		assert_int_equal(ledger_count(ledger), 1);
		assert_int_equal(ledger_wall_ns(ledger, NULL), 2000);
		profile_free(profile);
		ledger_free(ledger);
		stamp_free(stamp);
	}
}

/* They are told apart by class and kind, are in no row of the ledger, and add nothing to its wall time. */
static void test_window__requests_are_nobodys_time(void **state)
{
	struct request_rows *rows = request_rows_new();
	struct ledger *ledger = ledger_new(0);
	struct stamp *stamp = stamp_new();
	struct window *window = window_new(&tables.deps);
	struct profile *profile;

	(void)state;
	add_row(window, 1, 100);
	add_requests(window, 1, 0, 1, 512);
	add_requests(window, 1, ABI_REQUESTS_WRITE | ABI_REQUESTS_WRITEBACK, 2, 1024);
	add_requests(window, 1, ABI_REQUESTS_WRITE | ABI_REQUESTS_WRITEBACK, 3, 2048);
	add_requests(window, ABI_NOBODYS_TAG, ABI_REQUESTS_OTHER, 4, 0);
	profile = finish(window, stamp, ledger);
	assert_int_equal(ledger_count(ledger), 1);
	assert_int_equal(ledger_wall_ns(ledger, NULL), 100);
	assert_int_equal(request_rows_from_notes(rows, profile, NULL), 0);
	assert_int_equal(request_rows_count(rows), 3);
	assert_string_equal(request_rows_at(rows, 0)->class, "");
	assert_int_equal(request_rows_at(rows, 0)->op, REQUEST_OTHER);
	assert_int_equal(request_rows_at(rows, 0)->requests, 4);
	assert_int_equal(request_rows_at(rows, 1)->op, REQUEST_READ);
	assert_int_equal(request_rows_at(rows, 1)->bytes, 512);
	assert_true(*request_rows_at(rows, 1)->class);
	assert_int_equal(request_rows_at(rows, 2)->op, REQUEST_WRITE);
	assert_true(request_rows_at(rows, 2)->writeback);
	assert_int_equal(request_rows_at(rows, 2)->requests, 5);
	assert_int_equal(request_rows_at(rows, 2)->bytes, 3072);
	assert_int_equal(request_rows_at(rows, 2)->ns, 14);
	profile_free(profile);
	stamp_free(stamp);
	ledger_free(ledger);
	request_rows_free(rows);
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
		cmocka_unit_test_setup_teardown(test_window__samples_add_up_to_their_row, open_tables,
		                                close_tables),
		cmocka_unit_test_setup_teardown(test_window__shares_are_by_weight, open_tables, close_tables),
		cmocka_unit_test_setup_teardown(test_window__details_are_apart, open_tables, close_tables),
		cmocka_unit_test_setup_teardown(test_window__what_was_moved_adds_up, open_tables,
		                                close_tables),
		cmocka_unit_test_setup_teardown(test_window__what_was_moved_is_of_its_own_stack, open_tables,
		                                close_tables),
		cmocka_unit_test_setup_teardown(test_window__cpu_inside_stalls, open_tables, close_tables),
		cmocka_unit_test_setup_teardown(test_window__cpu_samples_that_stand_for_others, open_tables,
		                                close_tables),
		cmocka_unit_test_setup_teardown(test_window__requests_are_nobodys_time, open_tables,
		                                close_tables),
		cmocka_unit_test_setup_teardown(test_window__recovery_is_nobodys_time, open_tables,
		                                close_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
