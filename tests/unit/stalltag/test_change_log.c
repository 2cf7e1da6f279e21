/* Tests of a thread's log of tag changes, struct stalltag_log of stalltag.h, as bpf/log.bpf.h reads it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "bpf/abi.h"
#include "stalltag/change_log.h"
#include "stalltag/log_clock.h"
#include "stalltag/stalltag.h"

_Static_assert(STALLTAG_LOG_ENTRIES == ABI_LOG_ENTRIES && STALLTAG_LOG_NONE == ABI_LOG_NONE, "log");
_Static_assert(STALLTAG_LOG_RATE_BITS == ABI_LOG_RATE_BITS, "clock");
_Static_assert(offsetof(struct stalltag_log, fires) == offsetof(struct abi_log_head, state.fires), "fires");
_Static_assert(offsetof(struct stalltag_log, closed) == offsetof(struct abi_log_head, state.closed),
               "closed");
_Static_assert(offsetof(struct stalltag_log, clock) == offsetof(struct abi_log_head, state.clock), "clock");
_Static_assert(offsetof(struct stalltag_log, made) == offsetof(struct abi_log_head, made), "made");
_Static_assert(offsetof(struct stalltag_log, clocks) == offsetof(struct abi_log_head, clocks), "clocks");
_Static_assert(offsetof(struct stalltag_log, entries) == ABI_LOG_ENTRIES_AT, "entries");
_Static_assert(offsetof(struct stalltag_log, rows) == ABI_LOG_ROWS_AT, "rows");
_Static_assert(sizeof(struct stalltag_log_row) == sizeof(struct abi_log_row), "row");
_Static_assert(offsetof(struct stalltag_log_row, id) == offsetof(struct abi_tag, id), "row");
_Static_assert(offsetof(struct stalltag_log_row, trace_id) == offsetof(struct abi_tag, trace_id), "row");

static struct stalltag_log the_log;
static unsigned int n_fired;
static uint64_t tail, last_ns, ids_read;

static const struct stalltag_record *fill(uint64_t id, const char *name)
{
	static struct stalltag_record record;
	size_t bytes = strlen(name);

	memset(&record, 0, sizeof(record));
	record.span_id = __builtin_bswap64(id);
	record.head = 1 | (uint32_t)(bytes + 2) << 16;
	record.attribute = (uint16_t)(bytes << 8);
	memcpy(record.name, name, bytes);
	return &record;
}

static uint64_t time_of(uint64_t entry)
{
	const struct stalltag_log_clock *clock = &the_log.clocks[the_log.clock & 1];
	int64_t later = (int64_t)((entry & ~63ULL) - (clock->moment << 6)) >> 6;

	return clock->ns + (uint64_t)(later * (int64_t)clock->rate >> STALLTAG_LOG_RATE_BITS);
}

/* As a reader does: all entries since the last look. Their ids are summed up. */
static void read_entries(void)
{
	assert_true(the_log.head - tail < STALLTAG_LOG_ENTRIES);
	for (; tail < the_log.head; tail++) {
		uint64_t entry = the_log.entries[tail % STALLTAG_LOG_ENTRIES], ns = time_of(entry);
		uint32_t row = entry & 63;

		assert_true(ns + 1000000 > last_ns && ns < log_clock_ns() + 1000000);
		last_ns = ns;
		if (row != STALLTAG_LOG_NONE)
			ids_read += the_log.rows[row].id;
	}
}

/* The id that the last entry tells; 0: none. */
static uint64_t last_id(void)
{
	uint32_t row = tail ? the_log.entries[(tail - 1) % STALLTAG_LOG_ENTRIES] & 63 : STALLTAG_LOG_NONE;

	return row == STALLTAG_LOG_NONE ? 0 : the_log.rows[row].id;
}

/* Stands in for the probe: what the log has no room for is told by it alone. */
void change_log_fire(const struct stalltag_record *current, const struct stalltag_log *log)
{
	uint64_t told = current ? __builtin_bswap64(current->span_id) : 0;

	assert_ptr_equal(log, &the_log);
	n_fired++;
	read_entries();
	if (last_id() != told)
		ids_read += told;
}

static int begin(void **state)
{
	(void)state;
	memset(&the_log, 0, sizeof(the_log));
	n_fired = 0;
	tail = last_ns = ids_read = 0;
	return 0;
}

static void test_change_log__first_change_fires(void **state)
{
	(void)state;
	change_log_note(&the_log, fill(7, "name"));
	assert_int_equal(n_fired, 1);
	change_log_note(&the_log, NULL);
	assert_int_equal(n_fired, 1);
	assert_int_equal(the_log.head, 2);
	assert_int_equal(the_log.entries[1] & 63, STALLTAG_LOG_NONE);
	assert_string_equal(the_log.rows[the_log.entries[0] & 63].name, "name");
}

static void test_change_log__tags_that_come_again_keep_their_rows(void **state)
{
	char name[32];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "name/%d", i % 16);
		change_log_note(&the_log, fill((uint64_t)(i % 16) + 1, name));
	}
	for (int row = 0, made = 0; row < STALLTAG_LOG_ROWS; row++) {
		made += (int)the_log.made[row];
		assert_true(made <= 16);
	}
	read_entries();
	assert_int_equal(ids_read, 1000 / 16 * (16 * 17 / 2) + 8 * 9 / 2);
}

/* Each is read, whether by the log or by the probe, and none twice. */
static void test_change_log__ids_that_are_all_different(void **state)
{
	uint64_t sum = 0;

	(void)state;
	for (uint64_t id = 1; id <= 20000; id++) {
		change_log_note(&the_log, fill(id, "each"));
		change_log_note(&the_log, NULL);
		sum += id;
	}
	read_entries();
	assert_int_equal(ids_read, sum);
	assert_in_range(n_fired, 20000 / 100, 20000 / 8);
}

static void test_change_log__names_that_begin_alike_are_two(void **state)
{
	(void)state;
	change_log_note(&the_log, fill(1, "name/long"));
	change_log_note(&the_log, fill(1, "name"));
	change_log_note(&the_log, fill(1, "name/long"));
	assert_string_equal(the_log.rows[the_log.entries[0] & 63].name, "name/long");
	assert_string_equal(the_log.rows[the_log.entries[1] & 63].name, "name");
	assert_int_equal(the_log.entries[2] & 63, the_log.entries[0] & 63);
}

/* A signal handler that comes in the midst of a change is told by the probe, and leaves the log alone. */
static void test_change_log__busy(void **state)
{
	(void)state;
	change_log_note(&the_log, NULL);
	the_log.busy = 1;
	change_log_note(&the_log, fill(5, "handler"));
	assert_int_equal(n_fired, 2);
	assert_int_equal(the_log.head, 1);
	assert_int_equal(ids_read, 5);
}

static void test_change_log__closed(void **state)
{
	(void)state;
	change_log_note(&the_log, fill(5, "name"));
	change_log_close(&the_log);
	assert_int_equal(n_fired, 2);
	assert_int_equal(the_log.closed, 1);
}

/* After some time by the CPU's counter, the times are still the clock's. */
static void test_change_log__clocks(void **state)
{
	const struct timespec pause = { .tv_nsec = 25000000 };
	uint64_t before, after;

	(void)state;
	for (int i = 0; i < 8; i++) {
		change_log_note(&the_log, fill(1, "name"));
		nanosleep(&pause, NULL);
		change_log_note(&the_log, NULL);
		before = log_clock_ns();
		change_log_note(&the_log, fill(2, "name"));
		after = log_clock_ns();
		last_ns = time_of(the_log.entries[(the_log.head - 1) % STALLTAG_LOG_ENTRIES]);
		assert_in_range(last_ns, before - 100000, after + 100000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_change_log__first_change_fires, begin),
		cmocka_unit_test_setup(test_change_log__tags_that_come_again_keep_their_rows, begin),
		cmocka_unit_test_setup(test_change_log__ids_that_are_all_different, begin),
		cmocka_unit_test_setup(test_change_log__names_that_begin_alike_are_two, begin),
		cmocka_unit_test_setup(test_change_log__busy, begin),
		cmocka_unit_test_setup(test_change_log__closed, begin),
		cmocka_unit_test_setup(test_change_log__clocks, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
