/* Tests of diff_absent.h: what samples do not have, and whether it is known. */
#include "tests/unit/diff_fixture.h"

#include "profiler/diff/diff_absent.h"

#define WINDOWS 12

/* A window in which a step waits for a disk. */
static void begin_with_a_read(struct made *made, struct made_window *window)
{
	window_begin(made, window);
	window_wait(window, &(struct made_wait){ .function = "step",
	                                         .tag = "train_step",
	                                         .stall = "block_io",
	                                         .ns = 50 * MADE_MS });
}

/* A loop that waits for a disk and, each second, so long for a CPU; a process beside it as well. */
static void with_runqueue(struct made *made, int64_t ms)
{
	struct made_window window;

	made_begin(made);
	for (int w = 0; w < WINDOWS; w++) {
		begin_with_a_read(made, &window);
		window_row(&window, "train_step", LEDGER_RUNQUEUE, ms * MADE_MS, (struct ledger_row){ 0 });
		window_row(&window, "other", LEDGER_RUNQUEUE, 40 * MADE_MS, (struct ledger_row){ 0 });
		window_end(made, &window);
	}
}

static void test_diff_absent__runqueue(void **state)
{
	static const char said[] =
	        "\nNEW waited 900 ms for a CPU a second, BASE 100 ms: no samples have that; "
	        "`stallprof top` has it.\n";
	struct compared found;
	struct diff_task task;
	struct made base, new;

	(void)state;
	with_runqueue(&base, 60);
	with_runqueue(&new, 860);
	task = (struct diff_task){ .place = { base.path, new.path } };
	compare(&found, task, NULL);
	assert_says(&found, said);
	compared_free(&found);
	compare(&found, (struct diff_task){ .place = { new.path, base.path } }, NULL);
	assert_says_not(&found, "for a CPU");
	compared_free(&found);
	task.filter[0] = made_filter("ai_tag=train_step");
	task.filter[1] = made_filter("ai_tag=train_step");
	compare(&found, task, NULL);
	assert_says(&found, "\nNEW waited 860 ms for a CPU a second, BASE 60.0 ms:");
	compared_free(&found);
	/* Whoever asks for one stall does not ask for that. */
	task.filter[0] = made_filter("stall=block_io");
	task.filter[1] = made_filter("stall=block_io");
	compare(&found, task, NULL);
	assert_says_not(&found, "for a CPU");
	compared_free(&found);
	made_remove(&base);
	made_remove(&new);
}

/* A loop that waits for a lock, `sampled` ms of each second long enough for a sample, and polls now and then, if that has samples. */
static void with_lock(struct made *made, int64_t sampled, int64_t without, bool polls)
{
	struct made_window window;

	made_begin(made);
	for (int w = 0; w < WINDOWS; w++) {
		begin_with_a_read(made, &window);
		window_row(&window, "train_step", LEDGER_ONCPU, 500 * MADE_MS, (struct ledger_row){ 0 });
		window_row(&window, "train_step", LEDGER_BLOCKED, without * MADE_MS,
		           (struct ledger_row){ .cause = (char *)"lock" });
		if (polls)
			window_wait(&window, &(struct made_wait){ .function = "next_batch",
			                                          .tag = "train_step",
			                                          .stall = "poll",
			                                          .blocked = true,
			                                          .ns = 20 * MADE_MS });
		if (sampled)
			window_wait(&window, &(struct made_wait){ .function = "step",
			                                          .tag = "train_step",
			                                          .stall = "lock",
			                                          .blocked = true,
			                                          .ns = sampled * MADE_MS });
		window_end(made, &window);
	}
}

static int status_of_lock(const struct made *base, const struct made *new, const char *words)
{
	struct diff_task task = { .place = { base->path, new->path },
		                  .force = true,
		                  .filter = { { .waits = true }, { .waits = true } } };
	struct compared found;
	int status;

	compare(&found, task, "stall:lock:+5%");
	assert_says(&found, words);
	status = diff_status(&found.diff);
	compared_free(&found);
	return status;
}

/* What is left of a kind of wait may be too short for samples: it is gone, where other waits have some. */
static void test_diff_absent__short_waits(void **state)
{
	struct made base, shorter, longer, none;
	struct diff_task task;
	struct compared found;

	(void)state;
	with_lock(&base, 300, 0, true);
	with_lock(&shorter, 0, 2, true);
	with_lock(&longer, 0, 20, true);
	with_lock(&none, 0, 2, false);
	assert_int_equal(status_of_lock(&base, &shorter, "passed: stall:lock:+5%: lock: "), 0);
	assert_int_equal(status_of_lock(&base, &longer, "NEW was 240 ms in lock and has no sample of it"), 2);
	assert_int_equal(status_of_lock(&base, &none, "NEW was 24.0 ms in lock and has no sample of it"), 2);
	/* So it is where nothing else is looked at. */
	task = (struct diff_task){ .place = { base.path, shorter.path } };
	task.filter[0] = made_filter("stall=lock");
	task.filter[1] = made_filter("stall=lock");
	compare(&found, task, NULL);
	assert_false(found.diff.refused);
	compared_free(&found);
	made_remove(&base);
	made_remove(&shorter);
	made_remove(&longer);
	made_remove(&none);
}

/* A loop whose time on CPUs was sampled, if `oncpu`. */
static void with_oncpu(struct made *made, bool oncpu)
{
	struct made_window window;

	made_begin(made);
	for (int w = 0; w < WINDOWS; w++) {
		begin_with_a_read(made, &window);
		window_wait(&window, &(struct made_wait){ .function = "matmul",
		                                          .tag = "train_step",
		                                          .stall = oncpu ? "none" : "block_io",
		                                          .on_cpu = true,
		                                          .ns = 10 * MADE_MS });
		window_end(made, &window);
	}
}

static bool is_refused_of_oncpu(const char *base, const char *new)
{
	struct diff_task task = { .place = { base, new }, .type = "cpu" };
	struct compared found;
	bool refused;

	compare(&found, task, NULL);
	refused = found.diff.refused;
	if (refused)
		assert_says(&found, "has time on CPUs outside of stalls, and ");
	compared_free(&found);
	return refused;
}

static void test_diff_absent__oncpu_of_one_side(void **state)
{
	struct made with, without;

	(void)state;
	with_oncpu(&with, true);
	with_oncpu(&without, false);
	assert_true(is_refused_of_oncpu(with.path, without.path));
	assert_true(is_refused_of_oncpu(without.path, with.path));
	assert_false(is_refused_of_oncpu(with.path, with.path));
	assert_false(is_refused_of_oncpu(without.path, without.path));
	made_remove(&with);
	made_remove(&without);
}

/* CPU time outside of stalls is sampled if that is asked for. */
static void test_diff_absent__oncpu(void **state)
{
	struct diff_side side[2] = { { .oncpu_samples = 7 }, { .oncpu_samples = 9 } };
	struct diff_lines against = { .count = 0 };

	(void)state;
	diff_absent_oncpu(side, &against);
	assert_int_equal(against.count, 0);
	side[0].oncpu_samples = 0;
	diff_absent_oncpu(side, &against);
	assert_int_equal(against.count, 1);
	assert_string_equal(against.text[0],
	                    "NEW has time on CPUs outside of stalls, and BASE has not: record both with "
	                    "--oncpu-hz");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_absent__oncpu),
		cmocka_unit_test(test_diff_absent__oncpu_of_one_side),
		cmocka_unit_test(test_diff_absent__runqueue),
		cmocka_unit_test(test_diff_absent__short_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
