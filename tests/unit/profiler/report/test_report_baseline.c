/* Tests of report_rank.h: what is usual is what another profile says. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/report/report_primary.h"
#include "profiler/report/report_rank.h"
#include "profiler/report/report_untold.h"
#include "profiler/tracer/probe_table.h"
#include "tests/unit/profiler/report/planted_run.h"

/* Twenty seconds and more: half of a thread's time on the CPU, and some for the disk. */
static void a_stretch(struct run *run, int from, int to)
{
	seconds(run, TIMELINE_ONCPU, "train_step", from, to, (int64_t)SECOND / 2);
	seconds(run, TIMELINE_STEPS, "train_step", from, to, 50);
	lane(run, TIMELINE_STALL, "loader", "block_io", "vda", from, to, 0.3);
}

static struct run stretches(int second_from)
{
	struct run run = {
		.input = { .timeline = timeline_new(0), .ledger = ledger_new(0), .stamp = stamp_new() }
	};

	assert_int_equal(stamp_add_window(run.input.stamp, T0, T0 + 20 * SECOND), 0);
	row(&run, "train_step", false, LEDGER_ONCPU, "", 10 * (int64_t)SECOND);
	row(&run, "loader", false, LEDGER_STALL, "block_io", 6 * (int64_t)SECOND);
	tags(&run, "train_step", 0, 50);
	a_stretch(&run, 0, 20);
	if (second_from) {
		assert_int_equal(stamp_add_window(run.input.stamp, T0 + (uint64_t)second_from * SECOND,
		                                  T0 + (uint64_t)(second_from + 20) * SECOND),
		                 0);
		a_stretch(&run, second_from, second_from + 20);
	}
	return run;
}

/* Pauses between its windows, or between two of its jobs, are no time in which nothing was lost. */
static void test_report_baseline__with_pauses(void **state)
{
	struct run usual_run = stretches(3600), slow = stretches(0);
	struct report_ranking ranking;

	(void)state;
	assert_int_equal(report_rank(&ranking, &slow.input, &usual_run.input, NULL, NULL), 0);
	assert_int_not_equal(ranking.mode, REPORT_SPIKE);
	assert_true(ranking.baseline.given);
	assert_true(fabs(ranking.baseline.median - 0.3) < 1e-6);
	assert_true(fabs(ranking.steps_before - 50) < 1e-6);
	report_ranking_free(&ranking);
	lane(&slow, TIMELINE_STALL, "loader", "writeback", "vda", 5, 8, 0.8);
	assert_int_equal(report_rank(&ranking, &slow.input, &usual_run.input, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_SPIKE);
	assert_string_equal(ranking.primary->name, "writeback");
	assert_true(fabs(find(&ranking, "block_io")->before - 0.3) < 1e-6);
	report_ranking_free(&ranking);
	end(&slow);
	end(&usual_run);
}

/* What a class ran on a CPU is of the time in which it was there, too. */
static void test_report_baseline__with_pauses_and_more_work(void **state)
{
	struct run usual_run = stretches(3600), slow = stretches(0);
	struct report_ranking ranking;

	(void)state;
	seconds(&slow, TIMELINE_STEPS, "train_step", 0, 20, -25);
	assert_int_equal(report_rank(&ranking, &slow.input, &usual_run.input, NULL, NULL), 0);
	assert_true(ranking.by_steps);
	assert_string_equal(ranking.oncpu.class, "train_step");
	assert_true(fabs(ranking.oncpu.before_ns - 10 * (double)MS) < 0.1 * (double)MS);
	assert_true(fabs(ranking.oncpu.during_ns - 20 * (double)MS) < 0.1 * (double)MS);
	report_ranking_free(&ranking);
	end(&slow);
	end(&usual_run);
}

/* A run that waits for a GPU, and for others, which one of the two did not look at or did not record. */
static void expect_untold(const struct report_ranking *ranking, const char *name, bool of_other,
                          const char *why)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_not_equal(ranking->mode, REPORT_SPIKE);
	assert_int_equal(ranking->untold->n, 1);
	assert_string_equal(ranking->untold->cause[0].name, name);
	assert_int_equal(ranking->untold->cause[0].of_other, of_other);
	report_untold_text(out, ranking->untold);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, name));
	assert_non_null(strstr(text, why));
	free(text);
}

static void test_report_baseline__hooks_off(void **state)
{
	(void)state;
	for (int attached = 0; attached < 2; attached++) {
		struct run good = stretches(0), bad = stretches(0);
		struct report_ranking ranking;

		assert_int_equal(stamp_add_hook(good.input.stamp, "gpu_sync", "uprobe/cuda",
		                                attached ? HOOK_ATTACHED : HOOK_UNUSED,
		                                attached ? "" : PROBE_OFF),
		                 0);
		lane(&bad, TIMELINE_STALL, "train_step", "gpu_sync", "", 0, 20, 0.4);
		lane(&bad, TIMELINE_SPIN, "train_step", "gpu_sync", "", 0, 20, 0.2);
		assert_int_equal(report_rank(&ranking, &bad.input, &good.input, NULL, NULL), 0);
		if (attached) {
			assert_int_equal(ranking.untold->n, 0);
			assert_int_equal(ranking.mode, REPORT_SPIKE);
			assert_string_equal(ranking.primary->name, "gpu_sync");
		} else {
			expect_untold(&ranking, "gpu_sync", true, PROBE_OFF);
		}
		report_ranking_free(&ranking);
		/* The other way round it is no improvement that hides what grew. */
		lane(&good, TIMELINE_STALL, "loader", "writeback", "vda", 0, 20, 0.4);
		if (!attached) {
			assert_int_equal(report_rank(&ranking, &good.input, &bad.input, NULL, NULL), 0);
			assert_int_equal(ranking.mode, REPORT_SPIKE);
			assert_string_equal(ranking.primary->name, "writeback");
			assert_true(ranking.baseline.median < 0.31);
			report_ranking_free(&ranking);
		}
		lane(&bad, TIMELINE_STALL, "loader", "journal", "vda", 0, 20, 0.9);
		assert_int_equal(report_rank(&ranking, &bad.input, &good.input, NULL, NULL), 0);
		assert_int_equal(ranking.mode, REPORT_SPIKE);
		assert_int_equal(find(&ranking, "gpu_sync") != NULL, attached);
		report_ranking_free(&ranking);
		end(&bad);
		end(&good);
	}
}

/* `--waits none`: no lane has what the ledger has. */
static void test_report_baseline__waits_not_recorded(void **state)
{
	(void)state;
	for (int threshold = 0; threshold < 2; threshold++) {
		struct run good = stretches(0), bad = stretches(0);
		struct report_ranking ranking;

		row(&good, "train_step", false, LEDGER_BLOCKED, threshold ? "poll" : "", 8 * (int64_t)SECOND);
		if (threshold)
			stamp_set_blocked_threshold(good.input.stamp, MS);
		row(&bad, "train_step", false, LEDGER_BLOCKED, "poll", 8 * (int64_t)SECOND);
		lane(&bad, TIMELINE_BLOCKED, "train_step", "poll", "", 0, 20, 0.4);
		assert_int_equal(report_rank(&ranking, &bad.input, &good.input, NULL, NULL), 0);
		expect_untold(&ranking, "poll", true, threshold ? "timeline" : "not recorded");
		report_ranking_free(&ranking);
		end(&bad);
		end(&good);
	}
}

/* Where nothing is beyond the baseline, what takes most is no fault if it takes as much there. */
static void test_report_baseline__no_worse_than_it(void **state)
{
	static const struct {
		int64_t there_ms;
		bool as_baseline;
	} cases[] = { { 9000, true }, { 6000, true }, { 5600, true }, { 3000, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run good = stretches(0), same = stretches(0);
		struct report_ranking ranking;

		row(&good, "loader", false, LEDGER_STALL, "block_io",
		    cases[i].there_ms * (int64_t)MS - 6 * (int64_t)SECOND);
		assert_int_equal(report_rank(&ranking, &same.input, &good.input, NULL, NULL), 0);
		assert_int_equal(ranking.mode, REPORT_STEADY);
		assert_string_equal(ranking.primary->name, "block_io");
		assert_int_equal(report_primary_as_baseline(&ranking), cases[i].as_baseline);
		assert_true(fabs(ranking.share_there -
		                 (double)cases[i].there_ms / (double)(cases[i].there_ms + 10000)) < 1e-6);
		report_ranking_free(&ranking);
		assert_int_equal(report_rank(&ranking, &same.input, NULL, NULL, NULL), 0);
		assert_int_equal(ranking.mode, REPORT_STEADY);
		assert_false(report_primary_as_baseline(&ranking));
		report_ranking_free(&ranking);
		end(&same);
		end(&good);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_baseline__with_pauses),
		cmocka_unit_test(test_report_baseline__with_pauses_and_more_work),
		cmocka_unit_test(test_report_baseline__hooks_off),
		cmocka_unit_test(test_report_baseline__waits_not_recorded),
		cmocka_unit_test(test_report_baseline__no_worse_than_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
