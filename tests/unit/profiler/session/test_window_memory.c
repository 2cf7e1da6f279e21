/*
 * A window for which memory runs out: the n-th allocation fails, for every n from the first table to the written profile.
 * The result is an error, or a loss that is counted, or all of it; never a crash, and nothing stays behind.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/format/ledger_row.h"
#include "profiler/session/stack_pool.h"
#include "profiler/format/stamp.h"
#include "tests/unit/failing_allocator.h"
#include "tests/unit/window_tables.h"

#define ROW_NS      1000
#define FAILURE_MAX 200000

/* A window of so many rows, in which every second has a sample, or none. */
static uint64_t n_tags;
static bool sampled;

static int find_tag(struct tracer *tracer, uint64_t key, struct abi_tag *tag)
{
	(void)tracer;
	*tag = (struct abi_tag){ .id = key, .source = key % 2 ? ABI_TAG_STALLTAG : ABI_TAG_PROCESS };
	snprintf(tag->name, sizeof(tag->name), "class%u/step", (unsigned int)key % 3);
	return 0;
}

static struct abi_ledger_key key_of(uint64_t tag)
{
	struct abi_ledger_key key;

	memset(&key, 0, sizeof(key));
	key.tag = tag;
	key.tgid = (uint32_t)getpid();
	key.process_start_ns = 1;
	key.dev = 8 << 20 | (uint32_t)tag;
	key.state = ABI_STALL;
	key.cause = ABI_CAUSE_BLOCK_IO;
	return key;
}

/* Every second row has a sample, at one of two addresses of this program. */
static void fill(struct window *window)
{
	for (uint64_t tag = 1; tag <= n_tags; tag++) {
		struct abi_ledger_value value = { .ns = ROW_NS, .count = 1 };
		struct abi_ledger_key key = key_of(tag);
		struct abi_event event = { .kind = ABI_EVENT_WAIT,
			                   .flags = ABI_NO_USER_COPY,
			                   .duration_ns = ROW_NS,
			                   .weight_ns = ROW_NS,
			                   .tag = tag,
			                   .process_start_ns = key.process_start_ns,
			                   .tgid = key.tgid,
			                   .tid = key.tgid,
			                   .dev = key.dev,
			                   .state = key.state,
			                   .cause = key.cause };

		event.regs.ip = (uintptr_t)(tag % 4 ? (void *)fill : (void *)key_of);
		assert_int_equal(window_add_row(window, &key, &value), 0); /* what it can't take, it counts */
		if (sampled && tag % 2)
			window_add_event(window, &event);
	}
}

static void check(const struct profile *profile)
{
	struct ledger *ledger;
	struct stamp *stamp;
	uint64_t refused_ns;

	fails_at = 0;
	ledger = ledger_new(0);
	stamp = stamp_new();
	assert_int_equal(stamp_from_notes(stamp, profile, NULL), 0);
	assert_int_equal(ledger_from_notes(ledger, profile, NULL), 0);
	refused_ns = stamp_counter(stamp, "rows_refused_ns");
	assert_int_equal(ledger_wall_ns(ledger, NULL) + refused_ns, n_tags * ROW_NS);
	assert_int_equal(stamp_counter(stamp, "samples") + stamp_counter(stamp, "samples_lost"),
	                 sampled ? n_tags / 2 : 0);
	stamp_free(stamp);
	ledger_free(ledger);
}

static int finish(struct window *window)
{
	struct stamp *stamp = stamp_new();
	struct profile *profile = stamp ? window_finish(window, stamp, 1700000000000000000, ROW_NS) : NULL;

	if (profile)
		check(profile);
	profile_free(profile);
	stamp_free(stamp);
	return profile ? 0 : -ENOMEM;
}

static int run(void)
{
	struct window_tables tables;
	struct window *window = NULL;
	int err = window_tables_open(&tables);

	tables.fake.ops.find_tag = find_tag;
	if (!err)
		window = window_new(&tables.deps);
	if (window) {
		fill(window);
		err = finish(window);
	} else {
		err = -ENOMEM;
	}
	window_free(window);
	window_tables_close(&tables);
	return err;
}

static void fail_each(unsigned long step)
{
	unsigned long n, errors = 0;

	forget_all();
	assert_int_equal(run(), 0);
	assert_int_equal(n_live, 0);
	for (n = 1; n < FAILURE_MAX; n += step) {
		forget_all();
		n_allocations = 0;
		has_failed = false;
		fails_at = n;
		errors += run() != 0;
		if (!has_failed)
			break;
		if (n_live)
			fail_msg("%zu blocks stay behind when allocation %lu fails", n_live, n);
	}
	fails_at = 0;
	assert_in_range(n, 100, FAILURE_MAX - 1);
	assert_in_range(errors, 1, n - 1);
	print_message("# of %lu allocations every %lu. failed in turn, %lu left no profile\n", n - 1, step,
	              errors);
}

static void test_window_memory__samples(void **state)
{
	(void)state;
	n_tags = 40;
	sampled = true;
	fail_each(1);
}

/* So many that the hashes grow; each row makes the same few allocations, so a part of them is enough. */
static void test_window_memory__rows(void **state)
{
	(void)state;
	n_tags = 220;
	sampled = false;
	fail_each(5);
}

/* What did not grow has no more room than before. */
static void test_window_memory__offers(void **state)
{
	static const int64_t ids[] = { 1 };
	struct stack_pools *pools = stack_pools_new();
	struct stack_pool_key key;
	unsigned long before;

	(void)state;
	memset(&key, 0, sizeof(key));
	fails_at = 0;
	for (int i = 0; i < 16; i++)
		assert_int_equal(stack_pools_offer(pools, &key, ids, 1, 1), 0);
	for (int i = 0; i < 2; i++) {
		fails_at = n_allocations + 1;
		assert_int_equal(stack_pools_offer(pools, &key, ids, 1, 1), -ENOMEM);
	}
	fails_at = 0;
	before = n_allocations;
	assert_int_equal(stack_pools_offer(pools, &key, ids, 1, 1), 0);
	assert_int_equal(n_allocations, before + 1);
	stack_pools_free(pools);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window_memory__samples),
		cmocka_unit_test(test_window_memory__rows),
		cmocka_unit_test(test_window_memory__offers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
