/* Tests of diff.h: waits for a GPU that keep their CPU. */
#include "tests/unit/diff_fixture.h"

struct gpu_times {
	int64_t spins_ms, copies_ms;
};

/* The loop spins so long a second in a call of the driver's, and in another one that copies. */
static void fill(struct made_window *window, int w, const void *ctx)
{
	const struct gpu_times *times = ctx;

	window_wait(window, &(struct made_wait){ .function = "cuStreamSynchronize",
	                                         .tag = "train_step",
	                                         .stall = "gpu_sync",
	                                         .on_cpu = true,
	                                         .ns = (times->spins_ms + w % 3) * MADE_MS });
	window_wait(window, &(struct made_wait){ .function = "cuMemcpyHtoD_v2",
	                                         .tag = "train_step",
	                                         .stall = "gpu_sync",
	                                         .on_cpu = true,
	                                         .ns = times->copies_ms * MADE_MS });
	window_wait(window, &(struct made_wait){ .function = "decode",
	                                         .tag = "train_step",
	                                         .stall = "block_io",
	                                         .on_cpu = true,
	                                         .ns = times->copies_ms * MADE_MS });
}

static void test_diff_spins__are_waits(void **state)
{
	struct compared found;
	struct made base, slower;

	(void)state;
	made_loop(&base, fill, &(struct gpu_times){ .spins_ms = 100, .copies_ms = 50 });
	made_loop(&slower, fill, &(struct gpu_times){ .spins_ms = 300, .copies_ms = 90 });
	compare(&found, (struct diff_task){ .place = { base.path, slower.path }, .by = TOP_BY_STALL },
	        "stall:gpu_sync:+10%");
	assert_int_equal(compared_row(&found, "gpu_sync")->verdict, DIFF_WORSE);
	assert_int_equal(
	        (int64_t)(diff_points_sum(&compared_row(&found, "gpu_sync")->points[0]) / MADE_MS + 0.5),
	        101 * MADE_WINDOWS);
	assert_int_equal(
	        (int64_t)(diff_points_sum(&compared_row(&found, "gpu_sync")->points[1]) / MADE_MS + 0.5),
	        301 * MADE_WINDOWS);
	/* What is computed beside a request is none, nor is what a call copies. */
	assert_int_equal(compared_row(&found, "block_io")->verdict, DIFF_SAME);
	assert_int_equal(diff_status(&found.diff), 1);
	compared_free(&found);
	/* Where CPU time is compared it is all of that. */
	compare(&found,
	        (struct diff_task){ .place = { base.path, slower.path }, .by = TOP_BY_STALL, .type = "cpu" },
	        NULL);
	assert_int_equal(
	        (int64_t)(diff_points_sum(&compared_row(&found, "gpu_sync")->points[1]) / MADE_MS + 0.5),
	        391 * MADE_WINDOWS);
	compared_free(&found);
	made_remove(&base);
	made_remove(&slower);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_diff_spins__are_waits) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
