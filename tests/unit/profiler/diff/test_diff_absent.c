/* Tests of diff_absent.h: what samples do not have, and whether it is known. */
#include "tests/unit/diff_fixture.h"

#define WINDOWS 12

/* A loop that waits for a disk and, each second, so long for a CPU; a process beside it as well. */
static void with_runqueue(struct made *made, int64_t ms)
{
	struct made_window window;

	made_begin(made);
	for (int w = 0; w < WINDOWS; w++) {
		window_begin(made, &window);
		window_wait(&window, &(struct made_wait){ .function = "step",
		                                          .tag = "train_step",
		                                          .stall = "block_io",
		                                          .ns = 50 * MADE_MS });
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_absent__runqueue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
