/* Tests of diff_print.h: what the text says before its table. */
#include "tests/unit/diff_fixture.h"

#define WINDOWS 20
#define DEVICES 20

/* Waits for many devices, each of which differs from window to window, by `more` percent longer. */
static void many_devices(struct made *made, int more)
{
	struct made_window window;
	char device[8];

	made_begin(made);
	for (int w = 0; w < WINDOWS; w++) {
		window_begin(made, &window);
		for (int d = 0; d < DEVICES; d++) {
			int64_t ns = (100 + ((w + d) % 2 ? 15 : -15)) * (100 + more) * MADE_MS / 100;

			snprintf(device, sizeof(device), "vd%c", 'a' + d);
			window_wait(&window, &(struct made_wait){ .function = "save",
			                                          .tag = "save",
			                                          .stall = "block_io",
			                                          .device = device,
			                                          .ns = ns });
		}
		window_end(made, &window);
	}
}

static void test_diff_text__total_alone(void **state)
{
	struct compared found;
	struct made base, new;

	(void)state;
	many_devices(&base, 0);
	many_devices(&new, 5);
	compare(&found, (struct diff_task){ .place = { base.path, new.path }, .by = TOP_BY_DEVICE },
	        "total:+2%");
	assert_int_equal(compared_row(&found, "vda")->verdict, DIFF_NOISE);
	assert_int_equal(found.diff.total.verdict, DIFF_WORSE);
	assert_says(&found, "\nThe total is worse beyond noise (+5.0 %), no row by itself.\n");
	assert_says_not(&found, "Nothing differs");
	compared_free(&found);
	compare(&found, (struct diff_task){ .place = { new.path, base.path }, .by = TOP_BY_DEVICE }, NULL);
	assert_says(&found, "\nThe total is better beyond noise (-4.8 %), no row by itself.\n");
	compared_free(&found);
	compare(&found, (struct diff_task){ .place = { base.path, base.path }, .by = TOP_BY_DEVICE }, NULL);
	assert_says(&found, "\nNothing differs beyond noise.\n");
	compared_free(&found);
	made_remove(&base);
	made_remove(&new);
}

/* Steps in one window of several: noise is not known. */
static void test_diff_text__total_without_bounds(void **state)
{
	struct made_window window;
	struct compared found;
	struct made made;

	(void)state;
	made_begin(&made);
	for (int w = 0; w < 6; w++) {
		window_begin(&made, &window);
		for (uint64_t step = 1; step <= 12; step++)
			window_wait(&window, &(struct made_wait){ .function = "save",
			                                          .tag = "save",
			                                          .id = step,
			                                          .stall = "block_io",
			                                          .ns = MADE_MS });
		window_steps(&window, "save", w ? 0 : 12);
		window_end(&made, &window);
	}
	compare(&found,
	        (struct diff_task){
	                .place = { made.path, made.path }, .per_given = true, .per = DIFF_PER_STEP },
	        NULL);
	assert_int_equal(compared_row(&found, "save")->verdict, DIFF_SAME);
	assert_says_not(&found, "beyond noise");
	compared_free(&found);
	made_remove(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_text__total_alone),
		cmocka_unit_test(test_diff_text__total_without_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
