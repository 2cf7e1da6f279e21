/* Tests of inherited_waits.h: what a wait was for through the threads that ended it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/session/inherited_waits.h"

#define MS    1000000ULL
#define NOONE 0u

static const char *const vda = "vda", *const none = "";
static const char *const loader = "loader", *const helper = "helper", *const step = "step";

static struct inherited_waits *waits;
static struct inherited_part parts[INHERITED_PARTS];
static size_t n_parts;

static int begin(void **state)
{
	(void)state;
	waits = inherited_waits_new();
	return waits ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	inherited_waits_free(waits);
	return 0;
}

static struct abi_event event_of(uint32_t tid, uint32_t cause, uint64_t from_ms, uint64_t to_ms)
{
	bool stall = cause < ABI_CAUSE_MAX;

	return (struct abi_event){ .kind = ABI_EVENT_WAIT,
		                   .time_ns = to_ms * MS,
		                   .duration_ns = (to_ms - from_ms) * MS,
		                   .weight_ns = (to_ms - from_ms) * MS,
		                   .tid = tid,
		                   .tgid = tid / 10 * 10,
		                   .state = stall ? ABI_STALL : ABI_SLEEP,
		                   .cause = (uint16_t)cause };
}

/* A wait of thread `tid` that `waker` ended. */
static void waited(uint32_t tid, const char *class, uint32_t cause, uint64_t from_ms, uint64_t to_ms,
                   uint32_t waker)
{
	const struct abi_event event = event_of(tid, cause, from_ms, to_ms);
	const struct inherited_waker by = { .tid = waker };

	n_parts = inherited_waits_take(waits, &event, class, cause < ABI_CAUSE_MAX ? vda : none,
	                               waker ? &by : NULL, parts);
}

/* The same, by one that holds a tag. */
static void waited_for(uint32_t tid, const char *class, uint64_t from_ms, uint64_t to_ms,
                       const struct inherited_waker *waker)
{
	const struct abi_event event = event_of(tid, ABI_WAIT_LOCK, from_ms, to_ms);

	n_parts = inherited_waits_take(waits, &event, class, none, waker, parts);
}

static void assert_part(size_t i, const char *class, uint32_t cause, uint64_t ns)
{
	assert_true(i < n_parts);
	assert_ptr_equal(parts[i].what.class, class);
	assert_int_equal(parts[i].what.cause, cause);
	assert_int_equal(parts[i].ns, ns);
}

static void test_inherited_waits__of_who_ended_it(void **state)
{
	(void)state;
	waited(21, loader, ABI_CAUSE_BLOCK_IO, 100, 140, NOONE);
	assert_int_equal(n_parts, 0);
	waited(21, loader, ABI_CAUSE_JOURNAL, 150, 160, NOONE);
	waited(11, step, ABI_WAIT_LOCK, 110, 170, 21);
	assert_int_equal(n_parts, 2);
	assert_part(0, loader, ABI_CAUSE_BLOCK_IO, 30 * MS);
	assert_ptr_equal(parts[0].what.device, vda);
	assert_int_equal(parts[0].what.state, ABI_STALL);
	assert_part(1, loader, ABI_CAUSE_JOURNAL, 10 * MS);
	waited(12, step, ABI_WAIT_LOCK, 110, 170, NOONE); /* nobody knows who */
	assert_int_equal(n_parts, 0);
	waited(12, step, ABI_WAIT_LOCK, 110, 170, 99); /* one that is not known */
	assert_int_equal(n_parts, 0);
	waited(12, step, ABI_WAIT_LOCK, 110, 170, 12); /* a signal of its own */
	assert_int_equal(n_parts, 0);
	waited(12, step, ABI_WAIT_LOCK, 160, 170, 21); /* it ran all the time */
	assert_int_equal(n_parts, 0);
}

/* Down a chain, each part where it lies: what comes behind the disk is not the disk's. */
static void test_inherited_waits__down_a_chain(void **state)
{
	(void)state;
	waited(31, loader, ABI_CAUSE_BLOCK_IO, 100, 140, NOONE);
	waited(21, helper, ABI_WAIT_PIPE, 80, 150, 31);
	assert_part(0, loader, ABI_CAUSE_BLOCK_IO, 40 * MS);
	waited(11, step, ABI_WAIT_LOCK, 90, 160, 21);
	assert_int_equal(n_parts, 2);
	assert_part(0, loader, ABI_CAUSE_BLOCK_IO, 40 * MS);
	assert_part(1, helper, ABI_WAIT_PIPE, 20 * MS); /* 90 to 100, 140 to 150: the loader ran */
	waited(12, step, ABI_WAIT_LOCK, 141, 160, 21);
	assert_int_equal(n_parts, 1);
	assert_part(0, helper, ABI_WAIT_PIPE, 9 * MS);
}

/* What earlier windows told of a wait turns out to be something else: it is not told twice. */
static void test_inherited_waits__that_moved(void **state)
{
	struct abi_event event = event_of(21, ABI_WAIT_UNDECIDED, 100, 140);

	(void)state;
	event.kind = ABI_EVENT_INFLIGHT;
	inherited_waits_take(waits, &event, loader, vda, NULL, parts);
	event = event_of(21, ABI_CAUSE_BLOCK_IO, 100, 180);
	event.moved_ns = 40 * MS;
	event.moved_state = ABI_SLEEP;
	event.moved_cause = ABI_WAIT_UNDECIDED;
	inherited_waits_take(waits, &event, loader, vda, NULL, parts);
	waited(11, step, ABI_WAIT_LOCK, 100, 190, 21);
	assert_int_equal(n_parts, 1);
	assert_part(0, loader, ABI_CAUSE_BLOCK_IO, 80 * MS);
}

/* Short waits by lot stand for more than their length, but never for more than the wait that is split. */
static void test_inherited_waits__by_lot(void **state)
{
	struct abi_event event;

	(void)state;
	for (uint64_t ms = 110; ms <= 200; ms += 10) {
		event = event_of(21, ABI_CAUSE_BLOCK_IO, ms - 1, ms);
		event.weight_ns = 10 * MS;
		inherited_waits_take(waits, &event, loader, vda, NULL, parts);
	}
	waited(11, step, ABI_WAIT_LOCK, 100, 200, 21);
	assert_int_equal(n_parts, 1);
	assert_part(0, loader, ABI_CAUSE_BLOCK_IO, 100 * MS);
	event.time_ns -= 5 * MS;
	event.cause = ABI_CAUSE_JOURNAL;
	inherited_waits_take(waits, &event, loader, vda, NULL, parts); /* 110 ms of 100 by now */
	waited(11, step, ABI_WAIT_LOCK, 100, 200, 21);
	assert_int_equal(n_parts, 2);
	assert_in_range(parts[0].ns, 90 * MS, 91 * MS);
	assert_in_range(parts[0].ns + parts[1].ns, 100 * MS - 20, 100 * MS);
	/* One that lies in a short wait counts for what it stands for, though that begins before. */
	event.time_ns = 300 * MS;
	inherited_waits_take(waits, &event, loader, vda, NULL, parts);
	waited(11, step, ABI_WAIT_LOCK, 288, 301, 21);
	assert_part(0, loader, ABI_CAUSE_JOURNAL, 10 * MS);
}

/* For the rest the other was active, down the chain, too: then it is not the wait of the one between. */
/* Short waits that were sampled by lot stand for others, which lie between them: two links of a chain on, all are still as long as they were. */
static void test_inherited_waits__by_lot_down_a_chain(void **state)
{
	const struct inherited_waker storage = { .tid = 31, .class = loader },
	                             tokenizer = { .tid = 21, .class = helper };

	(void)state;
	for (uint64_t i = 0; i < 5; i++) {
		struct abi_event event = event_of(31, ABI_CAUSE_BLOCK_IO, 101 + 4 * i, 102 + 4 * i);

		event.weight_ns = 2 * MS;
		inherited_waits_take(waits, &event, loader, vda, NULL, parts);
	}
	waited_for(21, helper, 100, 120, &storage);
	assert_part(0, loader, ABI_CAUSE_BLOCK_IO, 10 * MS);
	assert_part(1, loader, 0, 10 * MS);
	waited_for(11, step, 100, 130, &tokenizer);
	assert_int_equal(n_parts, 3);
	for (size_t i = 0; i < n_parts; i++)
		assert_int_equal((parts[i].ns + MS / 2) / MS, 10);
}

static void test_inherited_waits__active(void **state)
{
	const struct inherited_waker by_loader = { .tid = 31, .class = loader },
	                             by_helper = { .tid = 21, .class = helper };

	(void)state;
	waited_for(21, helper, 100, 180, &by_loader); /* which nobody has seen wait */
	assert_int_equal(n_parts, 1);
	assert_part(0, loader, 0, 80 * MS);
	assert_int_equal(parts[0].what.state, INHERITED_ACTIVE);
	waited_for(11, step, 90, 190, &by_helper);
	assert_int_equal(n_parts, 2);
	assert_part(0, loader, 0, 80 * MS);
	assert_part(1, helper, 0, 20 * MS);
	waited(31, loader, ABI_CAUSE_BLOCK_IO, 200, 230, NOONE);
	waited_for(21, helper, 200, 240, &by_loader);
	assert_part(0, loader, ABI_CAUSE_BLOCK_IO, 30 * MS);
	assert_part(1, loader, 0, 10 * MS);
}

/* A thread that was made during the wait: before that, its maker was waited for. */
static void test_inherited_waits__born_meanwhile(void **state)
{
	struct inherited_waker queue = { .tid = 41, .class = helper, .creator = 31, .born_ns = 160 * MS };

	(void)state;
	waited(31, loader, ABI_CAUSE_BLOCK_IO, 100, 150, NOONE);
	waited(31, loader, ABI_WAIT_SLEEP, 165, 180, NOONE); /* nobody waits for that */
	waited(41, helper, ABI_CAUSE_JOURNAL, 161, 170, NOONE);
	waited_for(11, step, 100, 180, &queue);
	assert_int_equal(n_parts, 4);
	assert_part(0, loader, ABI_CAUSE_BLOCK_IO, 50 * MS);
	assert_part(1, helper, 0, 11 * MS);
	assert_part(2, loader, 0, 10 * MS); /* from its wait's end until it made the queue's thread */
	assert_part(3, helper, ABI_CAUSE_JOURNAL, 9 * MS);
	queue.born_ns = 90 * MS; /* before the wait: its maker is of no interest */
	waited_for(12, step, 100, 180, &queue);
	assert_part(0, helper, 0, 71 * MS);
}

/* What is left of a wait within pieces that were merged is not lost. */
static void test_inherited_waits__within_pieces(void **state)
{
	struct abi_event event;
	uint64_t sum = 0;

	(void)state;
	for (uint64_t i = 0; i < 250; i++) { /* 200 us of each 400 */
		event = event_of(31, ABI_CAUSE_BLOCK_IO, 100, 101);
		event.time_ns = 100 * MS + i * 400000 + 200000;
		event.duration_ns = event.weight_ns = 200000;
		inherited_waits_take(waits, &event, loader, vda, NULL, parts);
	}
	waited(21, helper, ABI_WAIT_PIPE, 100, 200, 31);
	assert_part(0, loader, ABI_CAUSE_BLOCK_IO, 50 * MS);
	waited(11, step, ABI_WAIT_LOCK, 100, 200, 21);
	for (size_t i = 0; i < n_parts; i++) {
		sum += parts[i].ns;
	}
	assert_int_equal(n_parts, 2);
	assert_in_range(sum, 100 * MS - 20, 100 * MS);
	assert_in_range(parts[1].ns, 49 * MS, 51 * MS);
}

static void test_inherited_waits__gaps(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 10; i++) /* ten causes, of which eight are told */
		waited(21, loader, ABI_CAUSE_BLOCK_IO + (uint32_t)i, 100 + 20 * i, 110 + 21 * i, NOONE);
	waited(11, step, ABI_WAIT_LOCK, 100, 350, 21);
	assert_int_equal(n_parts, INHERITED_PARTS);
	assert_part(0, loader, ABI_CAUSE_BLOCK_IO + 9, 19 * MS);
	assert_part(7, loader, ABI_CAUSE_BLOCK_IO + 2, 12 * MS);
	/* A gap of 1 ms stays one: who waits within it does not inherit. */
	waited(21, loader, ABI_CAUSE_BLOCK_IO, 400, 410, NOONE);
	waited(21, loader, ABI_CAUSE_BLOCK_IO, 411, 420, NOONE);
	waited(11, step, ABI_WAIT_LOCK, 410, 411, 21);
	assert_int_equal(n_parts, 0);
}

/* A part that a window cut, and that stays what it was, counts as any wait. */
static void test_inherited_waits__in_flight(void **state)
{
	struct abi_event event = event_of(21, ABI_CAUSE_BLOCK_IO, 100, 140);

	(void)state;
	event.kind = ABI_EVENT_INFLIGHT;
	inherited_waits_take(waits, &event, loader, vda, NULL, parts);
	waited(11, step, ABI_WAIT_LOCK, 100, 150, 21);
	assert_part(0, loader, ABI_CAUSE_BLOCK_IO, 40 * MS);
}

/* Another process has the thread's number. */
static void test_inherited_waits__of_another_process(void **state)
{
	struct abi_event event = event_of(21, ABI_CAUSE_JOURNAL, 145, 146);

	(void)state;
	waited(21, loader, ABI_CAUSE_BLOCK_IO, 100, 140, NOONE);
	event.process_start_ns = 5;
	inherited_waits_take(waits, &event, loader, vda, NULL, parts);
	waited(11, step, ABI_WAIT_LOCK, 100, 150, 21);
	assert_int_equal(n_parts, 1);
	assert_part(0, loader, ABI_CAUSE_JOURNAL, 1 * MS);
}

/* What is no more than a sixty-fourth of the wait is left out. */
static void test_inherited_waits__small_parts(void **state)
{
	(void)state;
	waited(21, loader, ABI_CAUSE_JOURNAL, 1000, 1010, NOONE);
	waited(21, loader, ABI_CAUSE_BLOCK_IO, 1100, 1200, NOONE);
	waited(11, step, ABI_WAIT_LOCK, 900, 1900, 21);
	assert_int_equal(n_parts, 1);
	assert_part(0, loader, ABI_CAUSE_BLOCK_IO, 100 * MS);
}

/* Waits that touch are one only if both are as long as their spans: else what lies in one would be spread over the other. */
static void test_inherited_waits__that_touch(void **state)
{
	const struct span first = { 100 * MS, 110 * MS }, second = { 110 * MS, 120 * MS },
	                  third = { 120 * MS, 130 * MS };
	const struct inherited what = { loader, vda, ABI_STALL, ABI_CAUSE_BLOCK_IO };
	struct kept_waits kept = { .n = 0 };

	(void)state;
	kept_waits_add(&kept, &first, &what, 5 * MS);
	kept_waits_add(&kept, &second, &what, 10 * MS);
	assert_int_equal(kept.n, 2);
	kept_waits_add(&kept, &third, &what, 10 * MS);
	assert_int_equal(kept.n, 2);
	assert_int_equal(kept.wait[1].ns, 20 * MS);
}

/* More waits than are kept: those closest together become one, and the sum stays. */
static void test_inherited_waits__many(void **state)
{
	uint64_t total = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		waited(21, loader, i % 3 ? ABI_CAUSE_BLOCK_IO : ABI_CAUSE_JOURNAL, 1000 + 20 * i,
		       1012 + 20 * i, NOONE);
	waited(11, step, ABI_WAIT_LOCK, 1000, 21000, 21);
	assert_int_equal(n_parts, 2);
	for (size_t i = 0; i < n_parts; i++)
		total += parts[i].ns;
	assert_in_range(total, 11900 * MS, 12000 * MS);
	assert_int_equal(parts[0].what.cause, ABI_CAUSE_BLOCK_IO);
	assert_in_range(parts[0].ns, 7600 * MS, 8100 * MS);
}

static void test_inherited_waits__of_many_threads(void **state)
{
	(void)state;
	for (uint32_t tid = 1; tid <= INHERITED_THREADS + 1; tid++)
		waited(tid, loader, ABI_CAUSE_BLOCK_IO, 100, 140, NOONE);
	waited(9999, step, ABI_WAIT_LOCK, 100, 150, 1); /* forgotten for the last one */
	assert_int_equal(n_parts, 0);
	waited(9999, step, ABI_WAIT_LOCK, 100, 150, INHERITED_THREADS + 1);
	assert_int_equal(n_parts, 1);
	assert_int_equal(inherited_waits_dropped(waits), 2);
}

static void test_inherited_waits__other_events(void **state)
{
	struct abi_event event = event_of(21, ABI_CAUSE_BLOCK_IO, 100, 140);

	(void)state;
	event.kind = ABI_EVENT_CPU;
	inherited_waits_take(waits, &event, loader, vda, NULL, parts);
	event = event_of(21, ABI_CAUSE_NVME_RESET, 100, 140);
	event.state = ABI_RECOVERY;
	inherited_waits_take(waits, &event, loader, vda, NULL, parts);
	event = event_of(21, ABI_CAUSE_BLOCK_IO, 0, 140);
	event.duration_ns = UINT64_MAX; /* a broken one */
	inherited_waits_take(waits, &event, loader, vda, NULL, parts);
	waited(11, step, ABI_WAIT_LOCK, 100, 150, 21);
	assert_int_equal(n_parts, 0);
	inherited_waits_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_inherited_waits__of_who_ended_it, begin, end),
		cmocka_unit_test_setup_teardown(test_inherited_waits__down_a_chain, begin, end),
		cmocka_unit_test_setup_teardown(test_inherited_waits__that_moved, begin, end),
		cmocka_unit_test_setup_teardown(test_inherited_waits__by_lot, begin, end),
		cmocka_unit_test_setup_teardown(test_inherited_waits__by_lot_down_a_chain, begin, end),
		cmocka_unit_test_setup_teardown(test_inherited_waits__active, begin, end),
		cmocka_unit_test_setup_teardown(test_inherited_waits__born_meanwhile, begin, end),
		cmocka_unit_test_setup_teardown(test_inherited_waits__within_pieces, begin, end),
		cmocka_unit_test_setup_teardown(test_inherited_waits__gaps, begin, end),
		cmocka_unit_test_setup_teardown(test_inherited_waits__in_flight, begin, end),
		cmocka_unit_test_setup_teardown(test_inherited_waits__of_another_process, begin, end),
		cmocka_unit_test_setup_teardown(test_inherited_waits__small_parts, begin, end),
		cmocka_unit_test(test_inherited_waits__that_touch),
		cmocka_unit_test_setup_teardown(test_inherited_waits__many, begin, end),
		cmocka_unit_test_setup_teardown(test_inherited_waits__of_many_threads, begin, end),
		cmocka_unit_test_setup_teardown(test_inherited_waits__other_events, begin, end),
	};

	return cmocka_run_group_tests_name("inherited_waits", tests, NULL, NULL);
}
