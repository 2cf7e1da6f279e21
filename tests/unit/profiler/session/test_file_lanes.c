/* Tests of file_lanes.h: an item that hangs holds up only its own file system. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "profiler/session/file_lanes.h"

#define HANGS ((void *)1) /* an item; all others are done at once */
#define QUICK ((void *)2)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go_on = PTHREAD_COND_INITIALIZER;
static bool hang;
static atomic_int done, begun;

static void work(void *ctx, void *item)
{
	assert_ptr_equal(ctx, &lock);
	pthread_mutex_lock(&lock);
	while (item == HANGS && hang)
		pthread_cond_wait(&go_on, &lock);
	pthread_mutex_unlock(&lock);
	done++;
}

static void begin(void)
{
	begun++;
}

static void wait_until_done(int wanted)
{
	const struct timespec step = { .tv_nsec = 1000000 };

	for (int i = 0; i < 10000 && done < wanted; i++)
		nanosleep(&step, NULL);
	assert_int_equal(done, wanted);
}

static void release(void)
{
	pthread_mutex_lock(&lock);
	hang = false;
	pthread_cond_broadcast(&go_on);
	pthread_mutex_unlock(&lock);
}

static void test_file_lanes__hang(void **state)
{
	const struct file_lanes_opts opts = {
		.lanes_max = 2, .waiting_max = 3, .ctx = &lock, .begin = begin, .work = work
	};
	struct file_lanes *lanes = file_lanes_new(&opts);
	int room = 0;

	(void)state;
	hang = true;
	assert_true(file_lanes_put(lanes, 1, HANGS));
	while (room < 10 && file_lanes_put(lanes, 1, QUICK))
		room++;
	assert_true(room == 2 || room == 3); /* the first one may have been taken by then */
	for (int i = 0; i < 20; i++) {
		assert_true(file_lanes_put(lanes, 2, QUICK));
		wait_until_done(i + 1);
	}
	assert_true(file_lanes_put(lanes, 3, HANGS)); /* in the place of 2, which has nothing to do */
	assert_false(file_lanes_put(lanes, 4, QUICK));
	release();
	wait_until_done(20 + 1 + room + 1);
	assert_true(begun >= 3);
	file_lanes_free(lanes);
	file_lanes_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_file_lanes__hang) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
