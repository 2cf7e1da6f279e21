/* Tests of report_early.h, through report_rank(): runs that were well only when they began. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "profiler/report/report_rank.h"
#include "tests/unit/profiler/report/planted_run.h"

/* A run of `all` seconds, whose step waits for the GPU for a part of its time, up to second `till`. */
static struct run long_run(int all, int till)
{
	struct run run = {
		.input = { .timeline = timeline_new(0), .ledger = ledger_new(0), .stamp = stamp_new() }
	};

	assert_int_equal(stamp_add_window(run.input.stamp, T0, T0 + (uint64_t)all * SECOND), 0);
	row(&run, "train_step", false, LEDGER_ONCPU, "", all / 4 * (int64_t)SECOND);
	row(&run, "train_step", false, LEDGER_STALL, "block_io", all / 4 * (int64_t)SECOND);
	row(&run, "train_step", false, LEDGER_STALL, "gpu_sync", all / 2 * (int64_t)SECOND);
	lane(&run, TIMELINE_STALL, "train_step", "gpu_sync", "", 0, till, 0.3);
	return run;
}

/* The part [from, to), with 20 steps a second, and what is left of the run with `slow`, which wait for the disk. */
static void part(struct run *run, int from, int to, bool fast, int slow)
{
	seconds(run, TIMELINE_STEPS, "train_step", from, to, fast ? 20 : slow);
	seconds(run, TIMELINE_ONCPU, "train_step", from, to,
	        fast ? (int64_t)SECOND / 2 : (int64_t)SECOND / 4);
	lane(run, TIMELINE_STALL, "train_step", "block_io", "vda", from, to, fast ? 0.05 : 0.45);
}

static void test_report_early__a_disk_that_turns_slow_and_stays_so(void **state)
{
	struct report_ranking ranking;
	struct run run = long_run(120, 120);

	(void)state;
	part(&run, 0, 12, true, 0);
	part(&run, 12, 120, false, 10);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_SPIKE);
	assert_true(ranking.begin_ns >= T0 + 11 * SECOND && ranking.begin_ns <= T0 + 13 * SECOND);
	assert_int_equal(ranking.end_ns, T0 + 120 * SECOND);
	assert_int_equal(ranking.baseline_begin_ns, T0);
	assert_true(ranking.baseline_end_ns >= T0 + 9 * SECOND &&
	            ranking.baseline_end_ns <= T0 + 13 * SECOND);
	assert_true(fabs(ranking.steps_before - 20) < 1.5 && fabs(ranking.steps_during - 10) < 0.5);
	assert_string_equal(ranking.primary->name, "block_io");
	report_ranking_free(&ranking);
	end(&run);
}

/* Compilation and empty caches come before. */
static void test_report_early__a_slow_start_before_the_good_part(void **state)
{
	struct report_ranking ranking;
	struct run run = long_run(120, 120);

	(void)state;
	part(&run, 0, 8, false, 2);
	part(&run, 8, 20, true, 0);
	part(&run, 20, 120, false, 10);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_SPIKE);
	assert_true(ranking.begin_ns >= T0 + 19 * SECOND && ranking.begin_ns <= T0 + 21 * SECOND);
	assert_int_equal(ranking.end_ns, T0 + 120 * SECOND);
	report_ranking_free(&ranking);
	end(&run);
}

/* Steps alone are slower: the loop itself takes longer. */
static void test_report_early__steps_alone(void **state)
{
	struct report_ranking ranking;
	struct run run = long_run(120, 120);

	(void)state;
	seconds(&run, TIMELINE_ONCPU, "train_step", 0, 120, (int64_t)SECOND / 2);
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 12, 20);
	seconds(&run, TIMELINE_STEPS, "train_step", 12, 120, 10);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_SPIKE);
	assert_true(ranking.by_steps);
	assert_true(ranking.begin_ns >= T0 + 11 * SECOND && ranking.begin_ns <= T0 + 13 * SECOND);
	report_ranking_free(&ranking);
	end(&run);
}

/* The steps end; what comes is another thing, and loses a little more. */
static void test_report_early__something_else_later(void **state)
{
	struct report_ranking ranking;
	struct run run = long_run(120, 12);

	(void)state;
	part(&run, 0, 12, true, 0);
	row(&run, "export", false, LEDGER_ONCPU, "", 100 * (int64_t)SECOND);
	seconds(&run, TIMELINE_ONCPU, "export", 12, 120, (int64_t)SECOND / 2);
	lane(&run, TIMELINE_STALL, "export", "block_io", "vda", 12, 120, 0.5);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_not_equal(ranking.mode, REPORT_SPIKE);
	report_ranking_free(&ranking);
	end(&run);
}

/* Whether the begin is the baseline, of a run with a first part of so many seconds, another of as many from `again` on, and so many steps a
 * second else. */
static bool is_early(int all, int first, int again, int slow)
{
	struct report_ranking ranking;
	struct run run = long_run(all, all);
	bool early;

	part(&run, 0, first, true, 0);
	if (again) {
		part(&run, first, again, false, slow);
		part(&run, again, again + first, true, 0);
		part(&run, again + first, all, false, slow);
	} else {
		part(&run, first, all, false, slow);
	}
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	early = ranking.baseline_end_ns - ranking.baseline_begin_ns < (uint64_t)(all / 3 - 1) * SECOND;
	assert_true(!early || ranking.mode == REPORT_SPIKE);
	report_ranking_free(&ranking);
	end(&run);
	return early;
}

static void test_report_early__what_is_no_good_part(void **state)
{
	(void)state;
	assert_true(is_early(120, 12, 0, 13));
	/* Not much faster. */
	assert_false(is_early(120, 12, 0, 14));
	/* It comes again: that is how the run goes. */
	assert_false(is_early(120, 12, 80, 10));
	/* Few seconds: batches that were read ahead. */
	assert_false(is_early(120, 3, 0, 10));
	/* As few of a long run. */
	assert_false(is_early(1200, 12, 0, 10));
	assert_true(is_early(1200, 24, 0, 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_early__a_disk_that_turns_slow_and_stays_so),
		cmocka_unit_test(test_report_early__a_slow_start_before_the_good_part),
		cmocka_unit_test(test_report_early__steps_alone),
		cmocka_unit_test(test_report_early__something_else_later),
		cmocka_unit_test(test_report_early__what_is_no_good_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
