/* Tests of checkpoint_order.h: sums, ranges, and what is judged of a file. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "profiler/session/checkpoint_order.h"

#define KIB 1024ULL

static void wrote(struct checkpoint_order *order, uint64_t ns, uint64_t offset, uint64_t asked,
                  int64_t result)
{
	const struct abi_file_event event = { .kind = ABI_FILE_WROTE,
		                              .begin_ns = ns,
		                              .end_ns = ns,
		                              .offset = offset,
		                              .length = asked,
		                              .result = result };

	checkpoint_order_add(order, &event);
}

static void done(struct checkpoint_order *order, uint64_t ns, uint64_t offset, uint64_t length,
                 int64_t result)
{
	const struct abi_file_event event = {
		.kind = ABI_FILE_DONE, .end_ns = ns, .offset = offset, .length = length, .result = result
	};

	checkpoint_order_add(order, &event);
}

static void synced(struct checkpoint_order *order, uint64_t begin, uint64_t end, int64_t result)
{
	const struct abi_file_event event = { .kind = ABI_FILE_SYNCED,
		                              .begin_ns = begin,
		                              .end_ns = end,
		                              .length = INT64_MAX,
		                              .result = result };

	checkpoint_order_add(order, &event);
}

static void expect(const struct checkpoint_order *order, bool dirty, enum checkpoint_durable durable,
                   enum checkpoint_reason reason)
{
	struct checkpoint_judgement judgement = checkpoint_order_judge(order, dirty);

	assert_int_equal(judgement.durable, durable);
	assert_int_equal(judgement.reason, reason);
}

static void expect_range(const struct checkpoint_order *order, size_t i, uint64_t offset, uint64_t length,
                         uint64_t first, uint64_t last)
{
	assert_true(i < order->n_ranges);
	assert_int_equal(order->ranges[i].offset, offset);
	assert_int_equal(order->ranges[i].length, length);
	assert_int_equal(order->ranges[i].first_done_ns, first);
	assert_int_equal(order->ranges[i].last_done_ns, last);
}

static void test_checkpoint_order__good(void **state)
{
	struct checkpoint_order order = { .n_ranges = 0 };

	(void)state;
	wrote(&order, 10, 0, 8 * KIB, 8 * KIB);
	wrote(&order, 20, 8 * KIB, 100, 100);
	expect(&order, true, CHECKPOINT_NOT_DURABLE, CHECKPOINT_STILL_DIRTY);
	expect(&order, false, CHECKPOINT_DURABLE_UNKNOWN, CHECKPOINT_NEVER_SYNCED);
	done(&order, 35, 0, 12 * KIB, 0);
	synced(&order, 30, 40, 0);
	assert_true(checkpoint_order_is_synced(&order));
	expect(&order, false, CHECKPOINT_DURABLE, CHECKPOINT_NO_REASON);
	assert_int_equal(order.n_ranges, 1);
	expect_range(&order, 0, 0, 8 * KIB + 100, 35, 35); /* no more than was written */
	wrote(&order, 50, 0, 10, 10);
	assert_false(checkpoint_order_is_synced(&order));
	expect(&order, false, CHECKPOINT_DURABLE_UNKNOWN, CHECKPOINT_CHANGED_AFTER_SYNC);
	synced(&order, 45, 60, 0); /* it began before that write had ended */
	expect(&order, false, CHECKPOINT_DURABLE_UNKNOWN, CHECKPOINT_CHANGED_AFTER_SYNC);
	checkpoint_order_release(&order);
}

static void test_checkpoint_order__written_back_after_sync(void **state)
{
	struct checkpoint_order order = { .n_ranges = 0 };

	(void)state;
	synced(&order, 10, 20, 0);
	expect(&order, false, CHECKPOINT_DURABLE, CHECKPOINT_NO_REASON);
	done(&order, 30, 0, 4 * KIB, 0); /* by a mapping: no call was seen */
	expect(&order, false, CHECKPOINT_DURABLE_UNKNOWN, CHECKPOINT_CHANGED_AFTER_SYNC);
	assert_int_equal(order.sums.completed_bytes, 4 * KIB);
	expect_range(&order, 0, 0, 4 * KIB, 30, 30);
	checkpoint_order_release(&order);
}

static void test_checkpoint_order__failures(void **state)
{
	struct checkpoint_order order = { .n_ranges = 0 };

	(void)state;
	wrote(&order, 10, 0, 8 * KIB, 4 * KIB);
	wrote(&order, 20, 4 * KIB, 4 * KIB, -ENOSPC);
	wrote(&order, 21, 4 * KIB, 4 * KIB, -EINTR);
	wrote(&order, 22, 4 * KIB, 4 * KIB, -512);
	wrote(&order, 23, 4 * KIB, 0, 5); /* how much was asked for is not known */
	assert_int_equal(order.sums.writes, 3);
	assert_int_equal(order.sums.short_writes, 1);
	assert_int_equal(order.sums.failed_writes, 1);
	assert_int_equal(order.sums.error, ENOSPC);
	synced(&order, 30, 40, -EIO);
	expect(&order, false, CHECKPOINT_NOT_DURABLE, CHECKPOINT_WRITE_FAILED);
	synced(&order, 50, 60, 0); /* the kernel tells an error once */
	expect(&order, false, CHECKPOINT_NOT_DURABLE, CHECKPOINT_WRITE_FAILED);
	assert_int_equal(order.sums.syncs, 2);
	assert_int_equal(order.sums.error, ENOSPC);
	checkpoint_order_release(&order);
	done(&order, 5, 0, 4 * KIB, -EIO);
	synced(&order, 6, 7, 0);
	expect(&order, false, CHECKPOINT_NOT_DURABLE, CHECKPOINT_WRITE_FAILED);
	assert_int_equal(order.sums.error, EIO);
	checkpoint_order_release(&order);
}

static void test_checkpoint_order__lost_events(void **state)
{
	struct checkpoint_order order = { .n_ranges = 0 };
	const struct abi_file_event event = {
		.kind = ABI_FILE_SYNCED, .length = INT64_MAX, .begin_ns = 3, .end_ns = 4, .lost = 2
	};

	(void)state;
	wrote(&order, 1, 0, 1, 1);
	checkpoint_order_add(&order, &event);
	expect(&order, false, CHECKPOINT_DURABLE_UNKNOWN, CHECKPOINT_EVENTS_LOST);
	assert_int_equal(order.sums.lost, 2);
	checkpoint_order_release(&order);
}

static void test_checkpoint_order__synchronous(void **state)
{
	struct abi_file_event event = {
		.kind = ABI_FILE_WROTE, .flags = ABI_FILE_SYNCHRONOUS, .end_ns = 5, .length = 10, .result = 10
	};
	struct checkpoint_order order = { .n_ranges = 0 };

	(void)state;
	checkpoint_order_add(&order, &event);
	expect(&order, false, CHECKPOINT_DURABLE, CHECKPOINT_NO_REASON);
	wrote(&order, 6, 10, 10, 10); /* by another opening */
	expect(&order, false, CHECKPOINT_DURABLE_UNKNOWN, CHECKPOINT_NEVER_SYNCED);
	checkpoint_order_release(&order);
}

static void test_checkpoint_order__part_synced(void **state)
{
	struct abi_file_event part = {
		.kind = ABI_FILE_SYNCED, .begin_ns = 20, .end_ns = 30, .length = 4 * KIB
	};
	struct checkpoint_order order = { .n_ranges = 0 };

	(void)state;
	wrote(&order, 10, 0, 8 * KIB, 8 * KIB);
	checkpoint_order_add(&order, &part); /* msync */
	expect(&order, false, CHECKPOINT_DURABLE_UNKNOWN, CHECKPOINT_NEVER_SYNCED);
	part.length = 8 * KIB;
	checkpoint_order_add(&order, &part);
	expect(&order, false, CHECKPOINT_DURABLE, CHECKPOINT_NO_REASON);
	part.offset = 4 * KIB;
	part.begin_ns = 40;
	wrote(&order, 35, 0, 1, 1);
	checkpoint_order_add(&order, &part);
	expect(&order, false, CHECKPOINT_DURABLE_UNKNOWN, CHECKPOINT_CHANGED_AFTER_SYNC);
	checkpoint_order_release(&order);
}

static void test_checkpoint_order__ranges(void **state)
{
	struct checkpoint_order order = { .n_ranges = 0 };

	(void)state;
	wrote(&order, 1, 64 * KIB, 16 * KIB, 16 * KIB);
	wrote(&order, 2, 0, 16 * KIB, 16 * KIB);
	assert_int_equal(order.n_ranges, 2);
	done(&order, 10, 72 * KIB, 8 * KIB, 0);
	done(&order, 11, 0, 16 * KIB, 0);
	done(&order, 12, 64 * KIB, 8 * KIB, 0);
	assert_int_equal(order.sums.out_of_order, 2);
	expect_range(&order, 0, 0, 16 * KIB, 11, 11);
	expect_range(&order, 1, 64 * KIB, 16 * KIB, 10, 12);
	wrote(&order, 20, 16 * KIB, 48 * KIB, 48 * KIB); /* between them */
	assert_int_equal(order.n_ranges, 1);
	expect_range(&order, 0, 0, 80 * KIB, 10, 12);
	done(&order, 30, 78 * KIB, 4 * KIB, 0); /* more than was written, and not of the last block alone */
	expect_range(&order, 0, 0, 82 * KIB, 10, 30);
	wrote(&order, 31, 100 * KIB, 1, 1);
	done(&order, 32, 200 * KIB, 4 * KIB, 0);
	assert_int_equal(order.n_ranges, 3);
	expect_range(&order, 2, 200 * KIB, 4 * KIB, 32, 32);
	checkpoint_order_release(&order);
	assert_int_equal(order.n_ranges, 0);
}

static void test_checkpoint_order__many_ranges(void **state)
{
	struct checkpoint_order order = { .n_ranges = 0 };

	(void)state;
	for (uint64_t i = 0; i < CHECKPOINT_RANGES_KEPT + 10; i++)
		wrote(&order, i + 1, i * 8 * KIB, 4 * KIB, 4 * KIB);
	assert_int_equal(order.n_ranges, CHECKPOINT_RANGES_KEPT);
	assert_int_equal(order.ranges_refused, 10);
	wrote(&order, 1, UINT64_MAX - 5, 100, 100); /* makes no sense */
	wrote(&order, 1, 0, 1 << 30, 1 << 30);
	assert_int_equal(order.n_ranges, 1);
	checkpoint_order_release(&order);
}

static void test_checkpoint_order__other_events(void **state)
{
	struct abi_file_event event = { .kind = ABI_FILE_CLOSED, .end_ns = 7 };
	struct checkpoint_order order = { .n_ranges = 0 };

	(void)state;
	checkpoint_order_add(&order, &event);
	assert_int_equal(order.sums.closed_ns, 7);
	event.kind = ABI_FILE_OPENED;
	checkpoint_order_add(&order, &event);
	event.kind = 1000;
	checkpoint_order_add(&order, &event);
	expect(&order, false, CHECKPOINT_DURABLE_UNKNOWN, CHECKPOINT_BEGUN_BEFORE);
	checkpoint_order_renamed(&order, 9, checkpoint_order_judge(&order, true));
	assert_int_equal(order.sums.renames, 1);
	assert_int_equal(order.sums.renamed_ns, 9);
	assert_int_equal(order.sums.durable_before_name, CHECKPOINT_NOT_DURABLE);
	checkpoint_order_release(&order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checkpoint_order__good),
		cmocka_unit_test(test_checkpoint_order__written_back_after_sync),
		cmocka_unit_test(test_checkpoint_order__failures),
		cmocka_unit_test(test_checkpoint_order__lost_events),
		cmocka_unit_test(test_checkpoint_order__synchronous),
		cmocka_unit_test(test_checkpoint_order__part_synced),
		cmocka_unit_test(test_checkpoint_order__ranges),
		cmocka_unit_test(test_checkpoint_order__many_ranges),
		cmocka_unit_test(test_checkpoint_order__other_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
