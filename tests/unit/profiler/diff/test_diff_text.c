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

/* --- names ------------------------------------------------------------------------------------------------ */

/* A load and a save that wait as long in the kernel, and nothing else. */
static void load_and_save(struct made *made, int ms, const char *file)
{
	static const char *const functions[] = { "load", "save" };
	struct made_window window;

	made_begin(made);
	for (int w = 0; w < WINDOWS; w++) {
		window_begin(made, &window);
		for (size_t i = 0; i < 2; i++)
			window_wait(&window, &(struct made_wait){ .function = functions[i],
			                                          .kernel = "folio_wait_bit_common",
			                                          .file = file,
			                                          .tag = functions[i],
			                                          .stall = "block_io",
			                                          .ns = (ms + w % 2) * MADE_MS });
		window_wait(&window, &(struct made_wait){ .function = "log",
		                                          .tag = "log",
		                                          .stall = "throttle",
		                                          .ns = 50 * MADE_MS });
		window_end(made, &window);
	}
}

/* The kernel's function has both their changes, but is not what anybody can change. */
static void test_diff_text__own_code_first(void **state)
{
	struct compared found;
	struct made base, new;

	(void)state;
	load_and_save(&base, 50, NULL);
	load_and_save(&new, 70, NULL);
	compare(&found, (struct diff_task){ .place = { base.path, new.path } }, NULL);
	assert_int_equal(compared_row(&found, "folio_wait_bit_common")->verdict, DIFF_WORSE);
	assert_says(&found, "\nWorse beyond noise: load (+39.6 %), save (+39.6 %), folio_wait_bit_common (+");
	compared_free(&found);
	made_remove(&base);
	made_remove(&new);
}

#define LONG "/a/folder/with/a/name/that/is/longer/than/the/sentence/has/room/for/attente-é/"

static void test_diff_text__long_names(void **state)
{
	struct compared found;
	struct made base, new;
	const char *name;
	size_t columns = 0;

	(void)state;
	load_and_save(&base, 50, LONG "disk.c");
	load_and_save(&new, 70, LONG "disk.c");
	compare(&found, (struct diff_task){ .place = { base.path, new.path }, .by = TOP_BY_LINE }, NULL);
	assert_says(&found, "Worse beyond noise: load /a/folder/");
	assert_says(&found, "…/disk.c:7 (+39.6 %), save /a/");
	name = strstr(found.text, "load /a/");
	for (; strncmp(name, " (+", 3) != 0; name++)
		columns += (*name & 0xc0) != 0x80;
	assert_int_equal(columns, 80);
	compared_free(&found);
	made_remove(&base);
	made_remove(&new);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_text__total_alone),
		cmocka_unit_test(test_diff_text__total_without_bounds),
		cmocka_unit_test(test_diff_text__own_code_first),
		cmocka_unit_test(test_diff_text__long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
