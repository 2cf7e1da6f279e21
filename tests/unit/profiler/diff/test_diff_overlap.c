/* Tests of diff_overlap.h: what one class does to the others, by windows. */
#include "profiler/diff/diff_overlap.h"
#include "profiler/format/timeline.h"
#include "tests/unit/diff_fixture.h"
#include "tests/unit/loaded_fixture.h"

static void add_window(struct diff_overlap *overlap, double step_ms, double save_ms, double other_ms)
{
	static const struct ledger_row device = { .device = (char *)"vda" };
	struct ledger *ledger = ledger_new(0);

	put_row(ledger, "step/1", device, LEDGER_STALL, "block_io", (uint64_t)(step_ms * MS));
	put_row(ledger, "step/1", device, LEDGER_ONCPU, "", 500 * MS);
	if (save_ms > 0)
		put_row(ledger, "save", device, LEDGER_STALL, "block_io", (uint64_t)(save_ms * MS));
	put_row(ledger, "other", device, LEDGER_STALL, "throttle", (uint64_t)(other_ms * MS));
	assert_int_equal(diff_overlap_add(overlap, 1000.0 * MS, ledger), 0);
	ledger_free(ledger);
}

static void judge(struct diff_overlap *overlap)
{
	struct diff_filter filter = { .count = 0 };
	char err[256];

	assert_int_equal(diff_filter_add(&filter, "ai_tag=save", err, sizeof(err)), 0);
	assert_int_equal(diff_overlap_judge(overlap, &filter, 0.99), 0);
	diff_filter_release(&filter);
}

/* 20 windows, in 5 of which the step waits 100 ms instead of 20; nobody else waited for what the saver waited for. */
static void test_diff_overlap__caused(void **state)
{
	struct diff_overlap overlap;
	const struct diff_overlap_row *row;

	(void)state;
	assert_int_equal(diff_overlap_init(&overlap), 0);
	for (int w = 0; w < 20; w++)
		add_window(&overlap, w % 4 ? 20 : 100, w % 4 ? 0 : 300, 50);
	judge(&overlap);
	assert_int_equal(overlap.count, 1);
	row = &overlap.rows[0];
	assert_string_equal(row->class, "step");
	assert_int_equal((int64_t)(row->whole_ns / MS + 0.5), 15 * 20 + 5 * 100);
	assert_int_equal((int64_t)(row->together_ns / MS + 0.5), 500);
	assert_int_equal((int64_t)(row->expected_ns / MS + 0.5), 100);
	assert_int_equal((int64_t)(row->active_ns / MS + 0.5), 5000);
	assert_true(row->judged && row->low_ns > 0 && row->low_ns < 400.0 * MS && row->high_ns > 400.0 * MS);
	diff_overlap_free(&overlap);
}

/* The step waits as long without the saver: nothing is caused. */
static void test_diff_overlap__coincidence(void **state)
{
	struct diff_overlap overlap;

	(void)state;
	assert_int_equal(diff_overlap_init(&overlap), 0);
	for (int w = 0; w < 30; w++)
		add_window(&overlap, w % 3 ? 20 : 24, w % 5 ? 0 : 300, 50);
	judge(&overlap);
	assert_int_equal(overlap.count, 1);
	assert_true(overlap.rows[0].judged && overlap.rows[0].low_ns <= 0 && overlap.rows[0].high_ns >= 0);
	diff_overlap_free(&overlap);
}

/* Where the saver waits all the time, there is nothing to compare with. */
static void test_diff_overlap__always(void **state)
{
	struct diff_overlap overlap;

	(void)state;
	assert_int_equal(diff_overlap_init(&overlap), 0);
	for (int w = 0; w < 5; w++)
		add_window(&overlap, 20, 300, 50);
	judge(&overlap);
	assert_int_equal(overlap.count, 1);
	assert_false(overlap.rows[0].judged);
	diff_overlap_free(&overlap);
}

/* The same by the timelines of windows, the saver in every other one: each has its own buckets. */
static void test_diff_overlap__timelines(void **state)
{
	const struct timeline_lane step = { TIMELINE_STALL, "step", "block_io", "vda", (1000 * MS) },
	                           save = { TIMELINE_STALL, "save", "block_io", "vda", (1000 * MS) };
	struct diff_overlap overlap;

	(void)state;
	assert_int_equal(diff_overlap_init(&overlap), 0);
	for (uint64_t w = 0; w < 20; w++) {
		struct timeline *timeline = timeline_new(0);

		assert_non_null(timeline);
		assert_int_equal(timeline_add(timeline, &step, w * (1000 * MS), (w + 1) * (1000 * MS),
		                              (w % 2 ? 20 : 100) * MS),
		                 0);
		if (w % 2 == 0)
			assert_int_equal(timeline_add(timeline, &save, w * (1000 * MS), (w + 1) * (1000 * MS),
			                              300 * MS),
			                 0);
		assert_int_equal(
		        diff_overlap_add_timeline(&overlap, timeline, w * (1000 * MS), (w + 1) * (1000 * MS)),
		        0);
		timeline_free(timeline);
	}
	judge(&overlap);
	assert_int_equal(overlap.count, 1);
	assert_int_equal((int64_t)(overlap.rows[0].together_ns / MS + 0.5), 10 * 100);
	assert_int_equal((int64_t)(overlap.rows[0].expected_ns / MS + 0.5), 10 * 20);
	assert_true(overlap.rows[0].judged && overlap.rows[0].low_ns > 0);
	diff_overlap_free(&overlap);
}

/* --- of which NEW ----------------------------------------------------------------------------------------- */

static void saves_in_turn(struct made *made)
{
	struct made_window window;

	made_begin(made);
	for (uint64_t w = 0; w < 20; w++) {
		window_begin(made, &window);
		window_wait(&window, &(struct made_wait){ .function = "forward",
		                                          .tag = "step",
		                                          .stall = "block_io",
		                                          .device = "vda",
		                                          .ns = (w % 2 ? 20 : 100) * MADE_MS });
		window_wait(&window, &(struct made_wait){ .function = "write_shard",
		                                          .tag = w % 2 ? "save/run1" : "save",
		                                          .id = w + 1,
		                                          .pid = 7,
		                                          .stall = w % 2 ? "throttle" : "block_io",
		                                          .device = "vda",
		                                          .ns = 300 * MADE_MS });
		window_end(made, &window);
	}
}

/* One tag of a class is not the class, nor is one process of it. */
static void test_diff_overlap__of_whole_classes(void **state)
{
	static const struct {
		const char *filter;
		bool whole;
	} known[] = {
		{ "ai_tag=save", true },
		{ "ai_tag=save,device=vda", true },
		{ "ai_tag=id=3", false },
		{ "ai_tag=save/run1", false },
		{ "ai_tag=save,process=7", false },
		{ "ai_tag=save,pid=7", false },
	};
	struct made made;

	(void)state;
	saves_in_turn(&made);
	for (size_t i = 0; i < COUNT(known); i++) {
		struct diff_task task = { .place = { made.path } };
		struct compared found;

		task.filter[0] = made_filter("ai_tag=step");
		task.filter[1] = made_filter(known[i].filter);
		compare(&found, task, NULL);
		assert_int_equal(found.diff.has_overlap, known[i].whole);
		if (known[i].whole) {
			assert_says(&found, "step's block_io on vda: 800 ms of 1.20 s");
			assert_says_not(&found, "whole classes");
		} else {
			assert_says_not(&found, "What NEW caused of");
			assert_says(&found, "What NEW caused is known of whole classes of tags only.");
		}
		compared_free(&found);
	}
	made_remove(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_overlap__caused),
		cmocka_unit_test(test_diff_overlap__coincidence),
		cmocka_unit_test(test_diff_overlap__always),
		cmocka_unit_test(test_diff_overlap__timelines),
		cmocka_unit_test(test_diff_overlap__of_whole_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
