/* Tests of diff_table_fold(): the C code below Python is shown only with --native, and no value depends on that. */
#include "tests/unit/diff_fixture.h"

#define WINDOWS 20

/* A save in Python that waits, also for the GIL, and a thread of C code alone. */
static void made_runs(struct made *made, int ms)
{
	struct made_window window;

	made_begin(made);
	for (int w = 0; w < WINDOWS; w++) {
		window_begin(made, &window);
		window_wait(&window, &(struct made_wait){ .function = "take_gil",
		                                          .python = "save",
		                                          .outer = "_PyEval_EvalFrameDefault",
		                                          .tag = "save",
		                                          .stall = "block_io",
		                                          .ns = (ms + w % 2) * MADE_MS });
		window_wait(&window, &(struct made_wait){ .python = "save",
		                                          .outer = "_PyEval_EvalFrameDefault",
		                                          .tag = "save",
		                                          .stall = "block_io",
		                                          .ns = 10 * MADE_MS });
		window_wait(&window, &(struct made_wait){ .function = "flush",
		                                          .outer = "writer",
		                                          .tag = "log",
		                                          .stall = "block_io",
		                                          .ns = (ms + 1 + w % 2) * MADE_MS });
		window_end(made, &window);
	}
}

/* Windows of both runs, compared; the other one is what the test wants to know. */
static void compare_runs(struct compared *found, enum top_by by, bool native, const char *rule)
{
	struct made base, new;

	made_runs(&base, 50);
	made_runs(&new, 70);
	compare(found, (struct diff_task){ .place = { base.path, new.path }, .by = by, .native = native },
	        rule);
	made_remove(&base);
	made_remove(&new);
}

static void test_diff_native__folded(void **state)
{
	struct compared found, all;

	(void)state;
	compare_runs(&found, TOP_BY_FUNCTION, false, NULL);
	compare_runs(&all, TOP_BY_FUNCTION, true, NULL);
	assert_says_not(&found, "take_gil");
	assert_says_not(&found, "_PyEval_EvalFrameDefault");
	assert_says(&found, "flush\n");
	assert_says(&found, "(without the C code below Python, 2 functions: --native shows it)");
	assert_says(&all, "take_gil");
	assert_says_not(&all, "--native");
	assert_int_equal(all.diff.table[TOP_BY_FUNCTION].count, found.diff.table[TOP_BY_FUNCTION].count + 2);
	/* main is native code of the other thread as well. */
	for (int s = 0; s < 2; s++) {
		assert_true(all.diff.total.bound.value[s] == found.diff.total.bound.value[s]);
		assert_true(compared_row(&all, "main")->bound.value[s] ==
		            compared_row(&found, "main")->bound.value[s]);
	}
	compared_free(&found);
	compared_free(&all);
}

static void test_diff_native__json(void **state)
{
	char *text[2] = { NULL, NULL };
	struct compared found;
	size_t size;

	(void)state;
	for (int native = 0; native < 2; native++) {
		FILE *out = open_memstream(&text[native], &size);

		assert_non_null(out);
		compare_runs(&found, TOP_BY_LINE, native, NULL);
		assert_int_equal(diff_print_json(out, &found.diff, 0), 0);
		fclose(out);
		compared_free(&found);
	}
	assert_non_null(strstr(text[0], "save /src/train.py:7"));
	assert_null(strstr(text[0], "take_gil"));
	assert_non_null(strstr(text[0], "\"native\": false"));
	assert_null(strstr(text[0], "\"folded\": 0"));
	assert_non_null(strstr(text[1], "\"folded\": 0"));
	assert_non_null(strstr(text[1], "take_gil"));
	free(text[0]);
	free(text[1]);
}

/* `any` is of all rows, which are shown then; a row that a rule names is judged, and shown, whatever it is. */
static void test_diff_native__rules(void **state)
{
	struct compared found;

	(void)state;
	compare_runs(&found, TOP_BY_FUNCTION, false, "any:+0%");
	assert_int_equal(found.diff.findings[0].outcome, DIFF_FAILED);
	assert_says(&found, "take_gil\n");
	assert_says_not(&found, "C code below Python");
	compared_free(&found);
	compare_runs(&found, TOP_BY_FUNCTION, false, "function:take_gil:+5%");
	assert_int_equal(found.diff.findings[0].outcome, DIFF_FAILED);
	assert_int_equal(compared_row(&found, "take_gil")->verdict, DIFF_WORSE);
	assert_says(&found, "take_gil\n");
	compared_free(&found);
	compare_runs(&found, TOP_BY_FUNCTION, false, "function:take_gi:+5%");
	assert_int_equal(found.diff.findings[0].outcome, DIFF_UNJUDGED);
	assert_says(&found, "There is take_gil");
	compared_free(&found);
}

static void test_diff_native__stacks(void **state)
{
	struct compared found;

	(void)state;
	compare_runs(&found, TOP_BY_STACK, false, NULL);
	assert_says_not(&found, "take_gil");
	compared_row(&found, "block_io, save\nsave /src/train.py:7");
	compared_row(&found,
	             "block_io, log\nflush /src/train.c:7\nwriter /src/train.c:7\nmain /src/train.c:7");
	compared_free(&found);
	compare_runs(&found, TOP_BY_STACK, true, NULL);
	assert_says(&found, "take_gil");
	compared_free(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_native__folded),
		cmocka_unit_test(test_diff_native__json),
		cmocka_unit_test(test_diff_native__rules),
		cmocka_unit_test(test_diff_native__stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
