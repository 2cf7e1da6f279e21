/* Tests of outbox.h: order, bounds, retries, and destinations that hang. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbolizer/base/clock.h"
#include "profiler/output/outbox.h"

#define MS        1000000ULL
#define ITEMS_MAX 4096

/* A destination: takes numbers, refuses or hangs as it is told. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int delivered[ITEMS_MAX], full[ITEMS_MAX], left[ITEMS_MAX];
	int stored[ITEMS_MAX];
	size_t n_delivered, n_full, n_left, n_stored, n_never, tries;
	bool store_fails;
	int never;           /* the number of one that can't be stored */
	bool full_by_putter; /* it waited for a drop */
	pthread_t putter;
	uint64_t tried_ns[64];
	size_t refuse; /* so many tries */
	bool hang, hangs, interrupted, ended, last, signals_open;
} to = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static enum outbox_result deliver(void *ctx, void *item, bool last)
{
	enum outbox_result result = OUTBOX_DONE;
	sigset_t mask;

	(void)ctx;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	pthread_mutex_lock(&to.lock);
	to.signals_open |= !sigismember(&mask, SIGTERM) || !sigismember(&mask, SIGCHLD);
	to.tried_ns[to.tries++ % 64] = monotonic_ns();
	to.last = last;
	to.hangs = to.hang;
	pthread_cond_broadcast(&to.changed);
	while (to.hang && !to.interrupted)
		pthread_cond_wait(&to.changed, &to.lock);
	to.hangs = false;
	if (to.refuse || to.interrupted) {
		to.refuse -= to.refuse > 0;
		result = OUTBOX_AGAIN;
	} else {
		to.delivered[to.n_delivered++ % ITEMS_MAX] = *(int *)item;
		free(item);
	}
	pthread_cond_broadcast(&to.changed);
	pthread_mutex_unlock(&to.lock);
	return result;
}

static void drop(void *ctx, void *item, enum outbox_loss why)
{
	(void)ctx;
	pthread_mutex_lock(&to.lock);
	to.full_by_putter |= why == OUTBOX_FULL && pthread_equal(pthread_self(), to.putter);
	if (why == OUTBOX_FULL)
		to.full[to.n_full++ % ITEMS_MAX] = *(int *)item;
	else
		to.left[to.n_left++ % ITEMS_MAX] = *(int *)item;
	pthread_mutex_unlock(&to.lock);
	free(item);
}

static uint64_t store(void *ctx, void *item)
{
	bool fails, never;

	(void)ctx;
	pthread_mutex_lock(&to.lock);
	fails = to.store_fails;
	never = *(int *)item == to.never;
	to.n_never += never;
	if (!fails && !never)
		to.stored[to.n_stored++ % ITEMS_MAX] = *(int *)item;
	pthread_cond_broadcast(&to.changed);
	pthread_mutex_unlock(&to.lock);
	return never ? OUTBOX_NEVER : fails ? 0 : 100;
}

static void interrupt(void *ctx)
{
	(void)ctx;
	pthread_mutex_lock(&to.lock);
	to.interrupted = true;
	pthread_cond_broadcast(&to.changed);
	pthread_mutex_unlock(&to.lock);
}

static void ended(void *ctx)
{
	(void)ctx;
	pthread_mutex_lock(&to.lock);
	to.ended = true;
	pthread_cond_broadcast(&to.changed);
	pthread_mutex_unlock(&to.lock);
}

static struct outbox *box_that_stores(size_t max_items, size_t max_bytes, size_t max_stored,
                                      uint64_t max_stored_bytes)
{
	const struct outbox_opts opts = { .name = "test",
		                          .max_items = max_items,
		                          .max_bytes = max_bytes,
		                          .max_stored = max_stored,
		                          .max_stored_bytes = max_stored_bytes,
		                          .store = max_stored ? store : NULL,
		                          .retry_ns = 20 * MS,
		                          .retry_max_ns = 80 * MS,
		                          .deliver = deliver,
		                          .drop = drop,
		                          .interrupt = interrupt,
		                          .ended = ended };
	struct outbox *box = outbox_new(&opts);

	assert_non_null(box);
	return box;
}

static struct outbox *box_of(size_t max_items, size_t max_bytes)
{
	return box_that_stores(max_items, max_bytes, 0, 0);
}

static void put(struct outbox *box, int number, size_t bytes, bool last)
{
	int *item = malloc(sizeof(*item));

	assert_non_null(item);
	*item = number;
	outbox_put(box, item, bytes, last);
}

/* Waits, for 20 s at most, for something that the other thread changes. */
#define UNTIL(condition)                                                                                     \
	do {                                                                                                 \
		uint64_t give_up_ns = monotonic_ns() + 20000 * MS;                                           \
		struct timespec step;                                                                        \
		pthread_mutex_lock(&to.lock);                                                                \
		while (!(condition) && monotonic_ns() < give_up_ns) {                                        \
			clock_gettime(CLOCK_REALTIME, &step);                                                \
			step.tv_sec++;                                                                       \
			pthread_cond_timedwait(&to.changed, &to.lock, &step);                                \
		}                                                                                            \
		assert_true(condition);                                                                      \
		pthread_mutex_unlock(&to.lock);                                                              \
	} while (0)

static void let(bool hang, size_t refuse)
{
	pthread_mutex_lock(&to.lock);
	to.hang = hang;
	to.refuse = refuse;
	pthread_cond_broadcast(&to.changed);
	pthread_mutex_unlock(&to.lock);
}

static int begin_anew(void **state)
{
	(void)state;
	pthread_mutex_lock(&to.lock);
	to.n_delivered = to.n_full = to.n_left = to.n_stored = to.tries = to.refuse = 0;
	to.n_never = 0;
	to.never = -1;
	to.store_fails = to.full_by_putter = false;
	to.putter = pthread_self();
	to.hang = to.hangs = to.interrupted = to.ended = to.last = to.signals_open = false;
	pthread_mutex_unlock(&to.lock);
	return 0;
}

static void assert_numbers(const int *numbers, size_t n, int first)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(numbers[i], first + (int)i);
}

static void test_outbox__delivers_all_in_order(void **state)
{
	struct outbox *box = box_of(ITEMS_MAX, SIZE_MAX);

	(void)state;
	for (int i = 0; i < 1000; i++)
		put(box, i, 1, i == 999);
	UNTIL(to.ended);
	assert_true(outbox_has_ended(box));
	assert_int_equal(outbox_count(box), 0);
	outbox_free(box);
	assert_int_equal(to.n_delivered, 1000);
	assert_numbers(to.delivered, 1000, 0);
	assert_int_equal(to.n_full + to.n_left, 0);
	assert_false(to.signals_open);
}

static void test_outbox__nobody_waits_for_one_that_hangs(void **state)
{
	struct outbox *box = box_of(8, SIZE_MAX);
	uint64_t began;

	(void)state;
	let(true, 0);
	put(box, 0, 1, false);
	UNTIL(to.hangs);
	began = monotonic_ns();
	for (int i = 1; i < 3000; i++)
		put(box, i, 1, false);
	assert_true(monotonic_ns() - began < 2000 * MS);
	assert_int_equal(outbox_count(box), 8);
	let(false, 0);
	UNTIL(to.n_delivered == 8);
	outbox_free(box);
	/* The one that was under way, then the newest. */
	assert_int_equal(to.delivered[0], 0);
	assert_numbers(to.delivered + 1, 7, 2993);
	assert_int_equal(to.n_full, 2992);
	assert_numbers(to.full, 2992, 1);
}

static void test_outbox__is_bounded_by_bytes(void **state)
{
	struct outbox *box = box_of(100, 1000);

	(void)state;
	let(true, 0);
	put(box, 0, 100, false);
	UNTIL(to.hangs);
	for (int i = 1; i <= 12; i++)
		put(box, i, 100, false);
	assert_int_equal(outbox_count(box), 10);
	assert_int_equal(to.n_full, 3);
	assert_numbers(to.full, 3, 1);
	/* One that is larger than all the room takes it all. */
	put(box, 13, 5000, false);
	assert_int_equal(outbox_count(box), 2);
	let(false, 0);
	UNTIL(to.n_delivered == 2);
	outbox_free(box);
	assert_int_equal(to.delivered[1], 13);
	assert_int_equal(to.n_full, 12);
}

static void test_outbox__tries_again_in_order_with_growing_delays(void **state)
{
	struct outbox *box = box_of(100, SIZE_MAX);
	const uint64_t least_ms[] = { 20, 40, 80, 80, 80 };

	(void)state;
	let(false, 5);
	for (int i = 0; i < 5; i++)
		put(box, i, 1, false);
	UNTIL(to.n_delivered == 5);
	assert_numbers(to.delivered, 5, 0);
	assert_int_equal(to.tries, 10);
	for (int i = 0; i < 5; i++)
		assert_true(to.tried_ns[i + 1] - to.tried_ns[i] >= least_ms[i] * MS);
	/* A success has the delays begin anew. */
	let(false, 1);
	put(box, 5, 1, false);
	UNTIL(to.n_delivered == 6);
	outbox_free(box);
	assert_int_equal(to.n_full + to.n_left, 0);
}

static void test_outbox__the_end_does_not_wait_for_the_delay(void **state)
{
	struct outbox_opts opts = { .name = "test",
		                    .max_items = 10,
		                    .max_bytes = SIZE_MAX,
		                    .retry_ns = 3600000 * MS,
		                    .retry_max_ns = 3600000 * MS,
		                    .deliver = deliver,
		                    .drop = drop,
		                    .ended = ended };
	struct outbox *box = outbox_new(&opts);

	(void)state;
	assert_non_null(box);
	let(false, 1);
	put(box, 0, 1, false);
	UNTIL(to.tries == 1);
	assert_false(to.last);
	put(box, 1, 1, true);
	UNTIL(to.ended);
	assert_true(to.last);
	assert_int_equal(to.n_delivered, 2);
	assert_numbers(to.delivered, 2, 0);
	put(box, 2, 1, false);
	assert_int_equal(to.n_left, 1);
	outbox_free(box);
}

static void test_outbox__what_fails_at_the_end_leaves_the_rest(void **state)
{
	struct outbox *box = box_of(10, SIZE_MAX);

	(void)state;
	let(true, SIZE_MAX);
	for (int i = 0; i < 3; i++)
		put(box, i, 1, i == 2);
	let(false, SIZE_MAX);
	UNTIL(to.ended);
	outbox_free(box);
	assert_int_equal(to.n_delivered, 0);
	assert_int_equal(to.n_left, 3);
	assert_numbers(to.left, 3, 0);
	assert_true(to.tries <= 2);
}

static void test_outbox__stops_in_the_midst(void **state)
{
	struct outbox *box = box_of(10, SIZE_MAX);
	uint64_t began;

	(void)state;
	let(true, 0);
	for (int i = 0; i < 3; i++)
		put(box, i, 1, false);
	UNTIL(to.hangs);
	began = monotonic_ns();
	outbox_free(box);
	assert_true(monotonic_ns() - began < 2000 * MS);
	assert_true(to.ended && to.interrupted);
	assert_int_equal(to.n_left, 3);
}

static void test_outbox__that_was_never_used_ends_at_once(void **state)
{
	struct outbox *box = box_of(10, SIZE_MAX);

	(void)state;
	assert_false(outbox_has_ended(box));
	outbox_stop(box);
	assert_true(outbox_has_ended(box));
	outbox_free(box);
	outbox_free(NULL);
	assert_int_equal(to.tries, 0);
}

/* All that waits behind one that is not delivered, and what comes meanwhile; nothing before. */
static void test_outbox__stores_what_has_to_wait(void **state)
{
	struct outbox *box = box_that_stores(100, 1000, 100, SIZE_MAX);

	(void)state;
	for (int i = 0; i < 3; i++)
		put(box, i, 10, false);
	UNTIL(to.n_delivered == 3);
	assert_int_equal(to.n_stored, 0);
	let(false, 1000);
	for (int i = 3; i < 6; i++)
		put(box, i, 10, false);
	UNTIL(to.n_stored == 3);
	put(box, 6, 10, false);
	UNTIL(to.n_stored == 4);
	assert_numbers(to.stored, 4, 3);
	let(false, 0);
	UNTIL(to.n_delivered == 7);
	assert_numbers(to.delivered, 7, 0);
	assert_int_equal(to.n_stored, 4);
	outbox_free(box);
}

static void test_outbox__what_is_stored_has_bounds_of_its_own(void **state)
{
	struct outbox *box = box_that_stores(4, SIZE_MAX, 100, 300);
	int *before = malloc(sizeof(*before));

	(void)state;
	assert_non_null(before);
	*before = 0;
	let(false, 1000);
	outbox_put_stored(box, before, 100);
	UNTIL(to.tries >= 1);
	for (int i = 1; i <= 6; i++) {
		put(box, i, 10, false);
		UNTIL(to.n_stored == (size_t)i);
	}
	/* 100 bytes each: the last three are there. */
	UNTIL(to.n_full == 4 && !outbox_count_in_memory(box));
	assert_numbers(to.full, 4, 0);
	assert_int_equal(outbox_count(box), 3);
	outbox_free(box);
	assert_int_equal(to.n_left, 3);
	assert_numbers(to.left, 3, 4);
}

/* When it can't be stored it waits in memory, within the bounds of that; what is stored does not go for it. */
static void test_outbox__what_cannot_be_stored_waits_in_memory(void **state)
{
	struct outbox *box = box_that_stores(4, SIZE_MAX, 100, SIZE_MAX);

	(void)state;
	let(false, 100000);
	for (int i = 0; i < 3; i++)
		put(box, i, 10, false);
	/* Not before the box knows it, too. */
	UNTIL(to.n_stored == 3 && !outbox_count_in_memory(box));
	pthread_mutex_lock(&to.lock);
	to.store_fails = true;
	pthread_mutex_unlock(&to.lock);
	for (int i = 3; i < 9; i++)
		put(box, i, 10, false);
	UNTIL(to.n_full == 2);
	assert_numbers(to.full, 2, 3);
	assert_int_equal(outbox_count(box), 7);
	pthread_mutex_lock(&to.lock);
	to.store_fails = false;
	pthread_mutex_unlock(&to.lock);
	/* Tried again after the next try to deliver. */
	UNTIL(to.n_stored == 7);
	assert_numbers(to.stored + 3, 4, 5);
	outbox_free(box);
	assert_int_equal(to.n_left, 7);
}

static void test_outbox__one_that_can_never_be_stored_keeps_no_other_from_it(void **state)
{
	struct outbox *box = box_that_stores(4, SIZE_MAX, 100, SIZE_MAX);

	(void)state;
	to.never = 1;
	let(false, 1000);
	for (int i = 0; i < 4; i++)
		put(box, i, 10, false);
	UNTIL(to.n_stored == 3 && to.tries >= 4);
	assert_int_equal(to.n_never, 1);
	assert_int_equal(outbox_count_in_memory(box), 1);
	let(false, 0);
	UNTIL(to.n_delivered == 4);
	assert_numbers(to.delivered, 4, 0);
	outbox_free(box);
}

/* Their files are removed by the thread, as the disk may hang. */
static void test_outbox__who_puts_stored_items_drops_none(void **state)
{
	struct outbox *box = box_that_stores(4, SIZE_MAX, 100, 300);

	(void)state;
	let(false, 1000);
	for (int i = 0; i < 6; i++) {
		int *item = malloc(sizeof(*item));

		assert_non_null(item);
		*item = i;
		outbox_put_stored(box, item, 100);
	}
	UNTIL(to.n_full == 3 && outbox_count(box) == 3);
	assert_numbers(to.full, 3, 0);
	assert_false(to.full_by_putter);
	outbox_free(box);
	assert_numbers(to.left, 3, 3);
}

#define PUTTERS 4

static void *put_many(void *arg)
{
	for (int i = 0; i < 500; i++)
		put(arg, i, 10, false);
	return NULL;
}

/* Each item has one fate, whoever puts and whatever befalls. */
static void lose_nothing(struct outbox *box)
{
	pthread_t putter[PUTTERS];

	let(false, 3);
	for (int i = 0; i < PUTTERS; i++)
		assert_int_equal(pthread_create(&putter[i], NULL, put_many, box), 0);
	for (int i = 0; i < PUTTERS; i++)
		pthread_join(putter[i], NULL);
	outbox_free(box);
	assert_int_equal(to.n_delivered + to.n_full + to.n_left, PUTTERS * 500);
}

static void test_outbox__loses_nothing_untold(void **state)
{
	lose_nothing(box_of(16, 100));
	begin_anew(state);
	lose_nothing(box_that_stores(16, 100, 30, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_outbox__delivers_all_in_order, begin_anew),
		cmocka_unit_test_setup(test_outbox__nobody_waits_for_one_that_hangs, begin_anew),
		cmocka_unit_test_setup(test_outbox__is_bounded_by_bytes, begin_anew),
		cmocka_unit_test_setup(test_outbox__tries_again_in_order_with_growing_delays, begin_anew),
		cmocka_unit_test_setup(test_outbox__the_end_does_not_wait_for_the_delay, begin_anew),
		cmocka_unit_test_setup(test_outbox__what_fails_at_the_end_leaves_the_rest, begin_anew),
		cmocka_unit_test_setup(test_outbox__stops_in_the_midst, begin_anew),
		cmocka_unit_test_setup(test_outbox__that_was_never_used_ends_at_once, begin_anew),
		cmocka_unit_test_setup(test_outbox__stores_what_has_to_wait, begin_anew),
		cmocka_unit_test_setup(test_outbox__what_is_stored_has_bounds_of_its_own, begin_anew),
		cmocka_unit_test_setup(test_outbox__what_cannot_be_stored_waits_in_memory, begin_anew),
		cmocka_unit_test_setup(test_outbox__one_that_can_never_be_stored_keeps_no_other_from_it,
		                       begin_anew),
		cmocka_unit_test_setup(test_outbox__who_puts_stored_items_drops_none, begin_anew),
		cmocka_unit_test_setup(test_outbox__loses_nothing_untold, begin_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
