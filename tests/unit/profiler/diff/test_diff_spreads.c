/* Tests of diff_spreads.h: what rows are divided by. */
#include "tests/unit/diff_fixture.h"

#define WINDOWS 12
#define STEPS   5 /* a window */

static void assert_near(double found, double wanted)
{
	if (found < wanted * 0.99 || found > wanted * 1.01)
		fail_msg("%.9g is not %.9g", found, wanted);
}

/* --- steps ------------------------------------------------------------------------------------------------ */

/* One run of a loop whose steps have ids, or are all `tag`, and whose loader has none; each begins its tags anew. */
static void add_run(struct made *made, const char *tag, bool ids)
{
	struct made_window window;
	bool first = true;

	for (uint64_t w = 0; w < WINDOWS; w++, first = false) {
		window_begin(made, &window);
		for (uint64_t step = 0; step < STEPS; step++)
			window_wait(&window, &(struct made_wait){ .function = "forward",
			                                          .tag = tag,
			                                          .id = ids ? w * STEPS + step + 1 : 0,
			                                          .stall = "block_io",
			                                          .ns = 2 * MADE_MS });
		window_wait(&window, &(struct made_wait){ .function = "read_shard",
		                                          .tag = "data_load/train",
		                                          .stall = "block_io",
		                                          .ns = STEPS * 3 * MADE_MS });
		window_steps(&window, "train_step", ids ? STEPS : first);
		window_steps(&window, "data_load", first);
		window_end(made, &window);
	}
}

static void two_runs(struct made *made, const char *tag, bool ids)
{
	made_begin(made);
	add_run(made, tag, ids);
	add_run(made, tag, ids);
}

/* A loader without ids has a step a run: it is divided by the loop's, however many runs there are. */
static void test_diff_spreads__runs_are_no_steps(void **state)
{
	struct compared found;
	struct made base, new;

	(void)state;
	two_runs(&base, "train_step", true);
	two_runs(&new, "train_step", true);
	compare(&found,
	        (struct diff_task){
	                .place = { base.path, new.path }, .per_given = true, .per = DIFF_PER_STEP },
	        "function:read_shard:+5%");
	assert_near(compared_row(&found, "read_shard")->bound.value[1], 3 * MADE_MS);
	assert_near(compared_row(&found, "forward")->bound.value[1], 2 * MADE_MS);
	assert_int_equal(diff_status(&found.diff), 0);
	compared_free(&found);
	made_remove(&base);
	made_remove(&new);
}

/* Ten runs are as little the steps of the loader as two are: BASE's are not missed in NEW. */
static void test_diff_spreads__many_runs(void **state)
{
	struct compared found;
	struct made base, new;

	(void)state;
	two_runs(&base, "train_step", true);
	for (int run = 2; run < 10; run++)
		add_run(&base, "train_step", true);
	two_runs(&new, "train_step", true);
	compare(&found,
	        (struct diff_task){
	                .place = { base.path, new.path }, .per_given = true, .per = DIFF_PER_STEP },
	        NULL);
	assert_int_equal(found.result, 0);
	assert_near(compared_row(&found, "read_shard")->bound.value[1], 3 * MADE_MS);
	compared_free(&found);
	made_remove(&base);
	made_remove(&new);
}

/* A loop of 5 steps a window, a loader without ids, and one checkpoint a window: both wait in one function. */
static void with_checkpoints(struct made *made)
{
	struct made_window window;

	made_begin(made);
	for (uint64_t w = 0; w < WINDOWS; w++) {
		window_begin(made, &window);
		window_wait(&window, &(struct made_wait){ .function = "forward",
		                                          .tag = "train_step",
		                                          .id = w + 1,
		                                          .stall = "gpu_sync",
		                                          .ns = MADE_MS });
		window_wait(&window, &(struct made_wait){ .function = "read_or_write",
		                                          .tag = "loader",
		                                          .stall = "block_io",
		                                          .ns = 20 * MADE_MS });
		window_wait(&window, &(struct made_wait){ .function = "read_or_write",
		                                          .tag = "checkpoint_write",
		                                          .id = w + 1,
		                                          .stall = "block_io",
		                                          .ns = 5 * MADE_MS });
		window_steps(&window, "train_step", STEPS);
		window_steps(&window, "checkpoint_write", 1);
		window_end(made, &window);
	}
}

/* What the loader has of such a row is none of the checkpoints': it is divided as the total is. */
static void test_diff_spreads__a_row_of_a_loader_and_checkpoints(void **state)
{
	struct compared found;
	struct made base, new;

	(void)state;
	with_checkpoints(&base);
	with_checkpoints(&new);
	compare(&found,
	        (struct diff_task){
	                .place = { base.path, new.path }, .per_given = true, .per = DIFF_PER_STEP },
	        NULL);
	assert_near(compared_row(&found, "read_or_write")->bound.value[1], 5 * MADE_MS);
	compared_free(&found);
	made_remove(&base);
	made_remove(&new);
}

/* Nor are two runs a side that has two steps. */
static void test_diff_spreads__runs_have_no_ids(void **state)
{
	struct compared found;
	struct made base, new;

	(void)state;
	two_runs(&base, "train_step", true);
	two_runs(&new, "train_step/rank0", false);
	compare(&found,
	        (struct diff_task){
	                .place = { base.path, new.path }, .per_given = true, .per = DIFF_PER_STEP },
	        NULL);
	assert_int_equal(found.result, -ENODATA);
	assert_non_null(strstr(found.err, "NEW cannot be normalised by step: it has one tag of train_step, "
	                                  "BASE 120"));
	compared_free(&found);
	made_remove(&base);
	made_remove(&new);
}

/* --- requests --------------------------------------------------------------------------------------------- */

/* A loop that waits for its GPU, and writes a log if `logs`, beside a checkpoint with many requests. */
static void with_requests(struct made *made, bool logs)
{
	struct made_window window;

	made_begin(made);
	for (int w = 0; w < WINDOWS; w++) {
		window_begin(made, &window);
		window_wait(&window, &(struct made_wait){ .function = "forward",
		                                          .tag = "train_step",
		                                          .stall = "gpu_sync",
		                                          .ns = 40 * MADE_MS });
		window_wait(&window, &(struct made_wait){ .function = "save",
		                                          .tag = "checkpoint_write",
		                                          .stall = "block_io",
		                                          .ns = 50 * MADE_MS });
		window_requests(&window, "checkpoint_write", 500);
		if (logs)
			window_requests(&window, "train_step", 1);
		window_end(made, &window);
	}
}

/* Both sides of a row are divided by requests of the same classes. */
static void test_diff_spreads__requests_of_one_side(void **state)
{
	static const enum diff_per pers[] = { DIFF_PER_IO, DIFF_PER_BYTES };
	struct made logging, silent;
	struct compared found;

	(void)state;
	with_requests(&logging, true);
	with_requests(&silent, false);
	for (size_t i = 0; i < 4; i++) {
		const char *const places[] = { logging.path, silent.path };

		compare(&found,
		        (struct diff_task){ .place = { places[i % 2], places[1 - i % 2] },
		                            .per_given = true,
		                            .per = pers[i / 2] },
		        "function:forward:+5%");
		assert_near(compared_row(&found, "forward")->bound.value[0], 40.0 * MADE_MS / 500);
		assert_near(compared_row(&found, "forward")->bound.value[1], 40.0 * MADE_MS / 500);
		assert_near(compared_row(&found, "save")->bound.value[1], 50.0 * MADE_MS / 500);
		assert_int_equal(diff_status(&found.diff), 0);
		compared_free(&found);
	}
	made_remove(&logging);
	made_remove(&silent);
}

/* --- what the ledger has no label for --------------------------------------------------------------------- */

/* Two ranks of one class, the second of which waits twice as long and has little time of its tag otherwise. */
static void with_ranks(struct made *made)
{
	static const char *const ranks[] = { "0", "1" };
	struct made_window window;

	made_begin(made);
	for (int w = 0; w < WINDOWS; w++) {
		window_begin(made, &window);
		for (uint32_t rank = 0; rank < 2; rank++) {
			window_wait(&window, &(struct made_wait){ .function = "all_reduce",
			                                          .tag = "train_step",
			                                          .rank = ranks[rank],
			                                          .pid = 20 + rank,
			                                          .stall = "collective",
			                                          .ns = (rank + 1) * 100 * MADE_MS });
			window_row(&window, "train_step", LEDGER_ONCPU, (rank ? 300 : 700) * MADE_MS,
			           (struct ledger_row){ .pid = 20 + rank });
		}
		window_requests(&window, "train_step", 10);
		window_end(made, &window);
	}
}

/* Time is chosen by process; what a rank's is, no ledger says. */
static void test_diff_spreads__of_other_labels(void **state)
{
	static const char remark[] = "chooses samples alone";
	static const struct {
		const char *base, *new;
		bool given;
		enum diff_per per, used;
		double base_ns, new_ns;
		const char *said; /* NULL: nothing */
	} known[] = {
		{ "pid=20", "pid=21", false, 0, DIFF_PER_TAG, 1e9 / 8, 2e9 / 5, NULL },
		{ "process=20", "process=21", false, 0, DIFF_PER_TAG, 1e9 / 8, 2e9 / 5, NULL },
		{ "rank=0", "rank=1", false, 0, DIFF_PER_WALL, 1e8, 2e8, NULL },
		{ "ai_tag=train_step,stall=collective", "device!=vdb", false, 0, DIFF_PER_TAG, 3e9 / 13,
		  3e9 / 13, NULL },
		{ "rank=0", "rank=1", true, DIFF_PER_TAG, DIFF_PER_TAG, 1e9 / 13, 2e9 / 13,
		  "rank chooses samples alone: what they are divided by (--normalize tag) is that of all." },
		{ "pid=20", "pid=21", true, DIFF_PER_IO, DIFF_PER_IO, 1e7, 2e7,
		  "pid chooses samples alone: what they are divided by (--normalize io) is that of all." },
		{ "pid=20", "rank=1", true, DIFF_PER_NONE, DIFF_PER_NONE, 1e8 * WINDOWS, 2e8 * WINDOWS,
		  NULL },
	};
	struct made made;

	(void)state;
	with_ranks(&made);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct diff_task task = { .place = { made.path },
			                  .per_given = known[i].given,
			                  .per = known[i].per };
		struct compared found;

		task.filter[0] = made_filter(known[i].base);
		task.filter[1] = made_filter(known[i].new);
		compare(&found, task, NULL);
		assert_near(compared_row(&found, "all_reduce")->bound.value[0], known[i].base_ns);
		assert_near(compared_row(&found, "all_reduce")->bound.value[1], known[i].new_ns);
		assert_int_equal(found.diff.per, known[i].used);
		if (known[i].said)
			assert_says(&found, known[i].said);
		else
			assert_says_not(&found, remark);
		compared_free(&found);
	}
	made_remove(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_spreads__runs_are_no_steps),
		cmocka_unit_test(test_diff_spreads__many_runs),
		cmocka_unit_test(test_diff_spreads__a_row_of_a_loader_and_checkpoints),
		cmocka_unit_test(test_diff_spreads__runs_have_no_ids),
		cmocka_unit_test(test_diff_spreads__requests_of_one_side),
		cmocka_unit_test(test_diff_spreads__of_other_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
