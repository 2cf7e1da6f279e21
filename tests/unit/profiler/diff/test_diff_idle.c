/* Tests of diff.h: waits of threads that have their process's tag alone, and idle. */
#include "tests/unit/diff_fixture.h"

#define WINDOWS 12
#define LATE    3 /* windows in which no tag is pushed yet */

/* `threads` of the process sleep; the loop waits `lock_ms` a second for a lock, if it pushes tags at all. */
static void with_pool(struct made *made, int64_t threads, int64_t lock_ms)
{
	struct made_window window;

	made_begin(made);
	for (int w = 0; w < WINDOWS; w++) {
		window_begin(made, &window);
		window_wait(&window, &(struct made_wait){ .function = "worker",
		                                          .tag = "train.py",
		                                          .base = true,
		                                          .stall = "lock",
		                                          .blocked = true,
		                                          .ns = threads * (int64_t)MADE_SECOND });
		if (lock_ms && w >= LATE)
			window_wait(&window, &(struct made_wait){ .function = "step",
			                                          .tag = "train_step",
			                                          .stall = "lock",
			                                          .blocked = true,
			                                          .ns = lock_ms * MADE_MS });
		window_wait(&window, &(struct made_wait){ .function = "read_config",
		                                          .tag = "train.py",
		                                          .base = true,
		                                          .stall = "block_io",
		                                          .ns = MADE_MS });
		window_end(made, &window);
	}
}

static struct diff_task waits_of(const struct made *base, const struct made *new)
{
	return (struct diff_task){ .place = { base->path, new->path },
		                   .by = TOP_BY_STALL,
		                   .filter = { { .waits = true }, { .waits = true } } };
}

static void assert_lock(struct compared *found, int64_t base_ms, int64_t new_ms)
{
	const struct diff_row *row = compared_row(found, "lock");

	assert_int_equal((int64_t)(diff_points_sum(&row->points[0]) / MADE_MS + 0.5), base_ms);
	assert_int_equal((int64_t)(diff_points_sum(&row->points[1]) / MADE_MS + 0.5), new_ms);
}

static void test_diff_idle__left_out(void **state)
{
	struct compared found;
	struct diff_task task;
	struct made base, new;

	(void)state;
	with_pool(&base, 64, 100);
	with_pool(&new, 72, 100);
	compare(&found, waits_of(&base, &new), "stall:lock:+5%");
	assert_lock(&found, 900, 900);
	assert_int_equal(compared_row(&found, "block_io")->verdict, DIFF_SAME);
	assert_int_equal(diff_status(&found.diff), 0);
	compared_free(&found);
	/* By name they are wanted. */
	task = waits_of(&base, &new);
	task.filter[0] = made_filter("ai_tag=train.py,stall=lock");
	task.filter[1] = made_filter("ai_tag=train.py,stall=blocked");
	compare(&found, task, NULL);
	assert_lock(&found, 64000 * WINDOWS, 72000 * WINDOWS);
	compared_free(&found);
	made_remove(&base);
	made_remove(&new);
}

/* Where no tags are pushed, they are what there is. */
static void test_diff_idle__alone(void **state)
{
	struct compared found;
	struct made base, new, tagged;

	(void)state;
	with_pool(&base, 64, 0);
	with_pool(&new, 72, 0);
	with_pool(&tagged, 72, 100);
	compare(&found, waits_of(&base, &new), NULL);
	assert_lock(&found, 64000 * WINDOWS, 72000 * WINDOWS);
	compared_free(&found);
	/* Where one side's alone are, the other's waits may be those of its loop: that is no comparison. */
	compare(&found, waits_of(&base, &tagged), NULL);
	assert_lock(&found, 0, 900);
	assert_says(&found, "BASE pushes no tags");
	compared_free(&found);
	made_remove(&base);
	made_remove(&new);
	made_remove(&tagged);
}

static void test_diff_idle__remark(void **state)
{
	struct compared found;
	struct made base, more, longer, alone;

	(void)state;
	with_pool(&base, 64, 100);
	with_pool(&more, 72, 100);
	with_pool(&longer, 64, 300);
	with_pool(&alone, 72, 0);
	compare(&found, (struct diff_task){ .place = { base.path, more.path } }, NULL);
	assert_says_not(&found, "Waits that are no stalls");
	compared_free(&found);
	compare(&found, (struct diff_task){ .place = { base.path, longer.path } }, NULL);
	assert_says(&found, "NEW was 225 ms in lock a second, BASE 75.0 ms.");
	compared_free(&found);
	compare(&found, (struct diff_task){ .place = { alone.path, alone.path } }, NULL);
	assert_says_not(&found, "Waits that are no stalls");
	compared_free(&found);
	made_remove(&base);
	made_remove(&more);
	made_remove(&longer);
	made_remove(&alone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_idle__left_out),
		cmocka_unit_test(test_diff_idle__alone),
		cmocka_unit_test(test_diff_idle__remark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
