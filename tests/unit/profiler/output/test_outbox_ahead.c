/* Tests of outbox.h: an item that cannot be delivered, and one behind it that is tried ahead of its turn. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "symbolizer/base/clock.h"
#include "profiler/output/outbox.h"

#define MS 1000000ULL

static int items[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };

/* What becomes of each, as text: "a0 " tried ahead, "d0 " delivered, "f0 " dropped for want of room, "l0 " left. */
static struct {
	pthread_mutex_t lock;
	char log[512];
	unsigned int delivered, ahead, tries;
	unsigned int until;           /* so many are delivered item 0 blocks */
	unsigned int refuse;          /* so many tries of those ahead */
	bool hang, ended;             /* ahead */
	uint64_t tried_ns;            /* item 0, the last time */
	uint64_t shortest_ns;         /* between two of these */
	uint64_t shortest_refused_ns; /* the same, until one was taken ahead */
} to = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void note(char what, const void *item)
{
	size_t used = strlen(to.log);

	snprintf(to.log + used, sizeof(to.log) - used, "%c%d ", what, *(const int *)item);
}

static enum outbox_result deliver(void *ctx, void *item, bool last)
{
	enum outbox_result result = OUTBOX_DONE;

	(void)ctx, (void)last;
	pthread_mutex_lock(&to.lock);
	if (item == &items[0]) {
		uint64_t now = monotonic_ns();

		if (to.tries++ && now - to.tried_ns < to.shortest_ns)
			to.shortest_ns = now - to.tried_ns;
		to.tried_ns = now;
		result = to.delivered < to.until ? OUTBOX_NEXT : OUTBOX_DONE;
	}
	if (result == OUTBOX_DONE) {
		note('d', item);
		to.delivered++;
	}
	pthread_mutex_unlock(&to.lock);
	return result;
}

static bool is(const bool *flag)
{
	bool value;

	pthread_mutex_lock(&to.lock);
	value = *flag;
	pthread_mutex_unlock(&to.lock);
	return value;
}

static void pause_ms(long ms)
{
	const struct timespec step = { .tv_nsec = ms * (long)MS };

	nanosleep(&step, NULL);
}

static enum outbox_result ahead(void *ctx, void *item)
{
	bool refused;

	pthread_mutex_lock(&to.lock);
	to.ahead++;
	note('a', item);
	refused = to.refuse > 0;
	to.refuse -= refused;
	if (!refused && !to.shortest_refused_ns)
		to.shortest_refused_ns = to.shortest_ns;
	pthread_mutex_unlock(&to.lock);
	while (is(&to.hang))
		pause_ms(1);
	return refused ? OUTBOX_AGAIN : deliver(ctx, item, false);
}

static void drop(void *ctx, void *item, enum outbox_loss why)
{
	(void)ctx;
	pthread_mutex_lock(&to.lock);
	note(why == OUTBOX_FULL ? 'f' : 'l', item);
	pthread_mutex_unlock(&to.lock);
}

static void ended(void *ctx)
{
	(void)ctx;
	pthread_mutex_lock(&to.lock);
	to.ended = true;
	pthread_mutex_unlock(&to.lock);
}

static struct outbox *box_of(size_t max_items, unsigned int until)
{
	const struct outbox_opts opts = { .name = "test",
		                          .max_items = max_items,
		                          .max_bytes = SIZE_MAX,
		                          .retry_ns = 20 * MS,
		                          .retry_max_ns = 20 * MS,
		                          .deliver = deliver,
		                          .ahead = ahead,
		                          .drop = drop,
		                          .ended = ended };
	struct outbox *box = outbox_new(&opts);

	assert_non_null(box);
	to.log[0] = '\0';
	to.delivered = to.ahead = to.tries = to.refuse = 0;
	to.until = until;
	to.shortest_ns = UINT64_MAX;
	to.shortest_refused_ns = 0;
	to.hang = to.ended = false;
	return box;
}

static void put(struct outbox *box, int number, bool last)
{
	outbox_put(box, &items[number], 1, last);
}

static void wait_for(const unsigned int *count, unsigned int least)
{
	unsigned int now = 0;

	for (int i = 0; i < 20000 && now < least; i++) {
		pthread_mutex_lock(&to.lock);
		now = *count;
		pthread_mutex_unlock(&to.lock);
		pause_ms(1);
	}
	assert_true(now >= least);
}

/* Then the first has another try at once. */
static void test_outbox__the_next_one_is_tried_ahead(void **state)
{
	struct outbox *box = box_of(8, 1);

	(void)state;
	for (int i = 0; i < 4; i++)
		put(box, i, false);
	wait_for(&to.delivered, 4);
	outbox_free(box);
	assert_string_equal(to.log, "a1 d1 d0 d2 d3 ");
	assert_true(to.shortest_ns < 20 * MS);
}

static void test_outbox__both_wait_when_the_next_one_is_refused(void **state)
{
	struct outbox *box = box_of(8, 1);

	(void)state;
	to.refuse = 3;
	for (int i = 0; i < 3; i++)
		put(box, i, false);
	wait_for(&to.delivered, 3);
	outbox_free(box);
	assert_true(to.shortest_refused_ns >= 20 * MS);
	assert_string_equal(to.log, "a1 a2 a2 a2 d2 d0 d1 ");
}

/* Several in a row may be such that they are never taken. */
static void test_outbox__another_one_is_tried_each_time(void **state)
{
	struct outbox *box = box_of(16, 1);

	(void)state;
	to.refuse = OUTBOX_AHEAD + 1;
	pthread_mutex_lock(&to.lock); /* until all are there, the first is not refused */
	for (int i = 0; i < 10; i++)
		put(box, i, false);
	pthread_mutex_unlock(&to.lock);
	wait_for(&to.delivered, 10);
	outbox_free(box);
	assert_string_equal(to.log, "a1 a2 a3 a4 a5 a6 a7 a8 a1 a2 d2 d0 d1 d3 d4 d5 d6 d7 d8 d9 ");
}

/* One ahead with each try of the first, however long that blocks. */
static void test_outbox__they_are_not_all_tried_at_once(void **state)
{
	struct outbox *box = box_of(8, 3);

	(void)state;
	for (int i = 0; i < 4; i++)
		put(box, i, false);
	wait_for(&to.delivered, 4);
	outbox_free(box);
	assert_string_equal(to.log, "a1 d1 a2 d2 a3 d3 d0 ");
	assert_true(to.tries >= 6);
}

/* It is the oldest. */
static void test_outbox__the_first_is_dropped_while_the_next_is_tried(void **state)
{
	struct outbox *box = box_of(2, 100);

	(void)state;
	to.hang = true;
	put(box, 0, false);
	put(box, 1, false);
	wait_for(&to.ahead, 1);
	put(box, 2, false);
	pthread_mutex_lock(&to.lock);
	to.hang = false;
	pthread_mutex_unlock(&to.lock);
	wait_for(&to.delivered, 2);
	outbox_free(box);
	assert_string_equal(to.log, "a1 f0 d1 d2 ");
}

static void test_outbox__nothing_is_tried_ahead_at_the_end(void **state)
{
	struct outbox *box = box_of(8, 100);

	(void)state;
	put(box, 0, false);
	wait_for(&to.tries, 1);
	put(box, 1, true);
	for (int i = 0; i < 20000 && !is(&to.ended); i++)
		pause_ms(1);
	outbox_free(box);
	assert_string_equal(to.log, "l0 l1 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outbox__the_next_one_is_tried_ahead),
		cmocka_unit_test(test_outbox__both_wait_when_the_next_one_is_refused),
		cmocka_unit_test(test_outbox__another_one_is_tried_each_time),
		cmocka_unit_test(test_outbox__they_are_not_all_tried_at_once),
		cmocka_unit_test(test_outbox__the_first_is_dropped_while_the_next_is_tried),
		cmocka_unit_test(test_outbox__nothing_is_tried_ahead_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
