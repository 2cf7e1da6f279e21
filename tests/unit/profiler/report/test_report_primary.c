/* Tests of report_primary.h: what is to blame among causes that hide each other. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report_live_classes.h"
#include "profiler/loaded/loaded_sample.h"
#include "profiler/report/report_primary.h"
#include "profiler/report/report_rank.h"
#include "tests/unit/profiler/report/planted_run.h"

#define PERCENT (10 * (int64_t)SECOND / 100) /* of the run */

/* What the loop loses is little of all threads' time beside workers, whether these idle or run. */
static void test_report_primary__a_loop_beside_workers(void **state)
{
	(void)state;
	for (int busy = 0; busy < 2; busy++) {
		struct report_ranking ranking;
		struct run run = usual();

		tags(&run, "train_step", 1, 50);
		seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 50);
		lane(&run, TIMELINE_STALL, "train_step", "block_io", "vda", 0, 10, 0.3);
		row(&run, "train_step", false, LEDGER_STALL, "block_io", 30 * PERCENT);
		tags(&run, "worker", 7, 2);
		row(&run, "worker", false, busy ? LEDGER_ONCPU : LEDGER_BLOCKED, busy ? "" : "poll",
		    800 * PERCENT);
		assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
		assert_int_equal(ranking.mode, REPORT_STEADY);
		assert_string_equal(ranking.primary->name, "block_io");
		assert_true(fabs(ranking.primary->of_loop - 30.0 / 80) < 1e-6);
		assert_true(fabs(ranking.primary->share - 30.0 / 890) < 1e-6);
		report_ranking_free(&ranking);
		end(&run);
	}
}

/* The GPU's own work is the largest part of a good run. */
static void test_report_primary__beside_the_gpu(void **state)
{
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	tags(&run, "train_step", 1, 50);
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 50);
	lane(&run, TIMELINE_STALL, "train_step", "gpu_sync", "", 0, 10, 0.4);
	row(&run, "train_step", false, LEDGER_STALL, "gpu_sync", 40 * PERCENT);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_string_equal(ranking.primary->name, "gpu_sync");
	assert_null(ranking.beside_gpu);
	assert_true(report_primary_is_bound(&ranking));
	report_ranking_free(&ranking);
	row(&run, "train_step", false, LEDGER_STALL, "block_io", 9 * PERCENT);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_string_equal(ranking.primary->name, "gpu_sync");
	assert_string_equal(ranking.beside_gpu->name, "block_io");
	report_ranking_free(&ranking);
	/* Waits for a loader come before it: the GPU has no work then. */
	row(&run, "train_step", false, LEDGER_BLOCKED, "lock", 60 * PERCENT);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_string_equal(ranking.primary->name, "gpu_sync");
	assert_false(report_primary_is_bound(&ranking));
	report_ranking_free(&ranking);
	end(&run);
}

/* Eight ranks, of which seven wait for the one that waits `for_disk` threads of its own for the disk. `live`: all that is left of the ledger is
 * what the agent's looks keep. */
static void rank_waits(const char *expected, double for_disk, bool live)
{
	struct ledger *classes;
	struct report_ranking ranking;
	struct run run = usual();

	for (uint32_t pid = 1; pid <= 8; pid++)
		rank_tags(&run, "train_step", pid, pid, 50);
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 50);
	lane(&run, TIMELINE_STALL, "train_step", "collective", "", 6, 8, 5.6);
	lane(&run, TIMELINE_STALL, "train_step", "block_io", "vda", 6, 8, for_disk);
	row(&run, "train_step", false, LEDGER_STALL, "collective", 112 * PERCENT);
	if (live) {
		classes = report_live_classes(&run.input);
		assert_non_null(classes);
		ledger_free(run.input.ledger);
		run.input.ledger = classes;
	}
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.mode, REPORT_SPIKE);
	assert_string_equal(ranking.primary->name, expected);
	assert_true(find(&ranking, "collective")->indirect);
	assert_null(ranking.whole.name);
	report_ranking_free(&ranking);
	end(&run);
}

static void test_report_primary__one_rank_has_the_cause(void **state)
{
	(void)state;
	for (int live = 0; live < 2; live++) {
		rank_waits("block_io", 0.8, live);
		rank_waits("collective", 0.2, live);
	}
}

/* Steps come half as fast for some seconds, in which hardly more is lost, to a peer on a socket. */
static void test_report_primary__too_little_for_steps_so_slow(void **state)
{
	(void)state;
	for (int much = 0; much < 2; much++) {
		struct report_ranking ranking;
		struct run run = usual();

		tags(&run, "train_step", 1, 450);
		seconds(&run, TIMELINE_STEPS, "train_step", 0, 5, 50);
		seconds(&run, TIMELINE_STEPS, "train_step", 5, 8, 25);
		seconds(&run, TIMELINE_STEPS, "train_step", 8, 10, 50);
		lane(&run, TIMELINE_BLOCKED, "train_step", "socket", "", 5, 8, much ? 0.09 : 0.03);
		assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
		assert_true(ranking.mode == REPORT_SPIKE && ranking.by_steps);
		assert_true((ranking.primary != NULL) == much);
		report_ranking_free(&ranking);
		end(&run);
	}
}

/* Steps come far more slowly, and a class of the loop that is not the steps' takes the time; or a short stretch of another cause comes before. */
static void test_report_primary__steps_that_nearly_end(void **state)
{
	(void)state;
	for (int spike = 0; spike < 4; spike++) {
		struct report_ranking ranking;
		struct run run = usual();

		tags(&run, "train_step", 1, 450);
		row(&run, "data_load", false, LEDGER_ONCPU, "", 3 * (int64_t)SECOND);
		tags(&run, "data_load", 1, 450);
		seconds(&run, TIMELINE_STEPS, "train_step", 0, 5, 50);
		seconds(&run, TIMELINE_STEPS, "train_step", 5, 10, 5);
		/* Of half a thread hardly anything is left. */
		seconds(&run, TIMELINE_ONCPU, "train_step", 5, 10, -45 * (int64_t)SECOND / 100);
		seconds(&run, TIMELINE_ONCPU, "data_load", 5, 10, 9 * (int64_t)SECOND / 10);
		for (int burst = 0; spike == 3 && burst < 3; burst++)
			lane(&run, TIMELINE_STALL, "train_step", "block_io", "vda", 5.2 + 1.7 * burst,
			     5.5 + 1.7 * burst, 1);
		if (spike && spike < 3)
			lane(&run, TIMELINE_STALL, "train_step", "block_io", "vda", 2, spike == 1 ? 2.4 : 4,
			     1);
		assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
		assert_int_equal(ranking.mode, REPORT_SPIKE);
		assert_true(ranking.by_steps == (spike != 2));
		assert_true(ranking.spikes == 1 && ranking.stretch_count == 0);
		if (spike != 2) {
			assert_int_equal(ranking.begin_ns, T0 + 5 * SECOND);
			assert_true(fabs(ranking.steps_before - 50) < 1 &&
			            fabs(ranking.steps_during - 5) < 0.1);
		}
		report_ranking_free(&ranking);
		end(&run);
	}
}

/* What was told while it went on stays where it was. */
static void test_report_primary__a_hint_stays(void **state)
{
	const struct report_hint hint = { .begin_ns = T0 + 8500 * MS,
		                          .end_ns = T0 + 9 * SECOND,
		                          .baseline_begin_ns = T0,
		                          .baseline_end_ns = T0 + 2 * SECOND };
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	tags(&run, "train_step", 1, 450);
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 3, 50);
	seconds(&run, TIMELINE_STEPS, "train_step", 3, 8, 10);
	seconds(&run, TIMELINE_STEPS, "train_step", 8, 10, 50);
	lane(&run, TIMELINE_STALL, "train_step", "block_io", "vda", 8.5, 9, 1);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, &hint), 0);
	assert_int_equal(ranking.begin_ns, hint.begin_ns);
	assert_false(ranking.by_steps);
	assert_string_equal(ranking.primary->name, "block_io");
	report_ranking_free(&ranking);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_int_equal(ranking.begin_ns, T0 + 3 * SECOND);
	assert_true(ranking.by_steps);
	report_ranking_free(&ranking);
	end(&run);
}

/* … and all the time the loop waits for CPUs. */
static void test_report_primary__the_whole_tells_more(void **state)
{
	(void)state;
	for (int length = 3; length <= 5; length += 2)
		for (int much = 0; much < 2; much++) {
			struct report_ranking ranking;
			struct run run = usual();

			tags(&run, "train_step", 1, 450);
			row(&run, "train_step", false, LEDGER_RUNQUEUE, "",
			    much ? 4 * (int64_t)SECOND : 600 * (int64_t)MS);
			seconds(&run, TIMELINE_STEPS, "train_step", 0, 10 - length, 50);
			seconds(&run, TIMELINE_STEPS, "train_step", 10 - length, 10, 25);
			seconds(&run, TIMELINE_RUNQUEUE, "train_step", 0, 10, 4 * (int64_t)SECOND / 10);
			assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
			if (length == 3 && much) {
				assert_int_equal(ranking.mode, REPORT_STEADY);
				assert_int_equal(ranking.primary->kind, TIMELINE_RUNQUEUE);
				assert_true(!ranking.by_steps && ranking.steps_left_out &&
				            ranking.steps_during < 0);
				assert_null(ranking.whole.name);
			} else {
				assert_true(ranking.mode == REPORT_SPIKE && ranking.by_steps);
			}
			report_ranking_free(&ranking);
			end(&run);
		}
}

/* The loop waits for another thread nearly half of its time, and a little for CPUs. */
static void test_report_primary__a_wait_beside_little_else(void **state)
{
	static const struct {
		const char *wait;
		int64_t runqueue_ms;
		const char *primary;
	} cases[] = { { "poll", 600, "poll" },  { "poll", 2000, "runqueue" }, { "sleep", 600, "runqueue" },
		      { "poll", 1200, "poll" }, { "poll", 0, "poll" },        { "socket", 100, "socket" },
		      { "sleep", 0, "sleep" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct report_ranking ranking;
		struct run run = usual();

		tags(&run, "train_step", 1, 500);
		seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 50);
		row(&run, "train_step", false, LEDGER_BLOCKED, cases[i].wait, 5 * (int64_t)SECOND);
		row(&run, "train_step", false, LEDGER_RUNQUEUE, "", cases[i].runqueue_ms * (int64_t)MS);
		assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
		assert_int_equal(ranking.mode, REPORT_STEADY);
		assert_string_equal(ranking.primary->name, cases[i].primary);
		assert_int_equal(report_primary_is_wait(&ranking), !strcmp(cases[i].primary, cases[i].wait));
		assert_null(ranking.unfelt); /* the loop itself waited for CPUs */
		report_ranking_free(&ranking);
		end(&run);
	}
}

/* A job ends in the middle of a second, and what is read late of it lies in the next: no step came more slowly. */
static void test_report_primary__steps_that_end(void **state)
{
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 50);
	seconds(&run, TIMELINE_STEPS, "train_step", 10, 11, 20);
	seconds(&run, TIMELINE_STEPS, "train_step", 11, 12, 2);
	seconds(&run, TIMELINE_ONCPU, "train_step", 10, 11, SECOND / 5);
	seconds(&run, TIMELINE_ONCPU, "train_step", 11, 12, SECOND / 50);
	assert_int_equal(stamp_add_window(run.input.stamp, T0 + 10 * SECOND, T0 + 20 * SECOND), 0);
	seconds(&run, TIMELINE_ONCPU, "other", 10, 20, SECOND / 2);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_false(ranking.by_steps);
	report_ranking_free(&ranking);
	end(&run);
}

/* Another program's tags come as often as the steps, and it waits for its clients: that is not the loop's. */
static void test_report_primary__a_wait_of_another_program(void **state)
{
	(void)state;
	for (uint32_t pid = 0; pid < 2; pid++) {
		struct report_ranking ranking;
		struct run run = usual();

		struct ledger_row wait = { .tag = (char *)"serve",
			                   .class = (char *)"serve",
			                   .pid = pid,
			                   .state = LEDGER_BLOCKED,
			                   .cause = (char *)"pipe",
			                   .device = (char *)"",
			                   .ns = 8 * (int64_t)SECOND };

		tags(&run, "train_step", 0, 500);
		tags(&run, "serve", pid, 500);
		seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 50);
		assert_int_equal(ledger_add(run.input.ledger, &wait), 0);
		assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
		assert_int_equal(ranking.mode, pid ? REPORT_NOTHING : REPORT_STEADY);
		report_ranking_free(&ranking);
		end(&run);
	}
}

/* A backup waits far longer than the loop's own sleep, which is told. */
static void test_report_primary__why_not_what_is_not_felt(void **state)
{
	struct report_ranking ranking;
	struct run run = usual();

	(void)state;
	tags(&run, "train_step", 0, 500);
	seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 50);
	row(&run, "train_step", false, LEDGER_BLOCKED, "sleep", 5 * (int64_t)SECOND);
	row(&run, "backup", false, LEDGER_STALL, "block_io", 20 * (int64_t)SECOND);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_string_equal(ranking.primary->name, "sleep");
	assert_string_equal(report_primary_why_not(&ranking, find(&ranking, "block_io")),
	                    "the loop did not wait for it, as far as is known");
	report_ranking_free(&ranking);
	end(&run);
}

/* A twentieth of the loop's time, and less. */
static void test_report_primary__a_wait_alone(void **state)
{
	static const struct {
		const char *wait;
		int64_t ms;
		enum report_mode mode;
	} cases[] = { { "lock", 400, REPORT_STEADY },
		      { "lock", 200, REPORT_NOTHING },
		      { LOADED_UNDECIDED, 400, REPORT_NOTHING } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct report_ranking ranking;
		struct run run = usual();

		tags(&run, "train_step", 1, 500);
		seconds(&run, TIMELINE_STEPS, "train_step", 0, 10, 50);
		row(&run, "train_step", false, LEDGER_BLOCKED, cases[i].wait, cases[i].ms * (int64_t)MS);
		assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
		assert_int_equal(ranking.mode, cases[i].mode);
		report_ranking_free(&ranking);
		end(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_primary__a_loop_beside_workers),
		cmocka_unit_test(test_report_primary__beside_the_gpu),
		cmocka_unit_test(test_report_primary__one_rank_has_the_cause),
		cmocka_unit_test(test_report_primary__too_little_for_steps_so_slow),
		cmocka_unit_test(test_report_primary__steps_that_nearly_end),
		cmocka_unit_test(test_report_primary__a_hint_stays),
		cmocka_unit_test(test_report_primary__the_whole_tells_more),
		cmocka_unit_test(test_report_primary__a_wait_beside_little_else),
		cmocka_unit_test(test_report_primary__why_not_what_is_not_felt),
		cmocka_unit_test(test_report_primary__a_wait_alone),
		cmocka_unit_test(test_report_primary__steps_that_end),
		cmocka_unit_test(test_report_primary__a_wait_of_another_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
