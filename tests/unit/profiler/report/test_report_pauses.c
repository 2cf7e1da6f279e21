/* Tests of report_rank.h: runs of which only parts were recorded, with days in between. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "profiler/report/report_rank.h"
#include "tests/unit/profiler/report/planted_run.h"

#define DAY 86400

/* A minute of a loop that loses 0.05 of a thread's time to its disk. */
static void a_minute(struct run *run, int from)
{
	seconds(run, TIMELINE_ONCPU, "train_step", from, from + 60, (int64_t)SECOND / 2);
	seconds(run, TIMELINE_STEPS, "train_step", from, from + 60, 50);
	lane(run, TIMELINE_STALL, "loader", "block_io", "vda", from, from + 60, 0.05);
	assert_int_equal(stamp_add_window(run->input.stamp, T0 + (uint64_t)from * SECOND,
	                                  T0 + (uint64_t)(from + 60) * SECOND),
	                 0);
}

static struct run minutes(int apart)
{
	struct run run = {
		.input = { .timeline = timeline_new(0), .ledger = ledger_new(0), .stamp = stamp_new() }
	};

	row(&run, "train_step", false, LEDGER_ONCPU, "", 60 * (int64_t)SECOND);
	row(&run, "loader", false, LEDGER_STALL, "block_io", 6 * (int64_t)SECOND);
	tags(&run, "train_step", 0, 50);
	a_minute(&run, 0);
	a_minute(&run, apart);
	return run;
}

/* Three seconds are found, in either window, however far apart these are, and told when they were. */
static void test_report_pauses__an_incident_beside_one(void **state)
{
	static const int apart[] = { 70, 85, 3600, 60 * DAY, 4000 * DAY };

	(void)state;
	for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++)
		for (int second = 0; second < 2; second++) {
			int at = 20 + second * apart[i];
			struct run run = minutes(apart[i]);
			struct report_ranking ranking;

			lane(&run, TIMELINE_STALL, "loader", "writeback", "vda", at, at + 3, 0.5);
			assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
			assert_int_equal(ranking.mode, REPORT_SPIKE);
			assert_string_equal(ranking.primary->name, "writeback");
			assert_int_equal(ranking.symptom.step_ns, RANK_WIDE_NS);
			assert_in_range(ranking.begin_ns, T0 + (uint64_t)at * SECOND - 300 * MS,
			                T0 + (uint64_t)at * SECOND + 100 * MS);
			assert_in_range(ranking.end_ns, T0 + (uint64_t)(at + 3) * SECOND - 100 * MS,
			                T0 + (uint64_t)(at + 3) * SECOND + 300 * MS);
			assert_true(ranking.baseline_end_ns - ranking.baseline_begin_ns <= 60 * SECOND);
			assert_true(fabs(ranking.steps_before - 50) < 1e-6);
			report_ranking_free(&ranking);
			end(&run);
		}
}

/* All stretches have their Unix times. */
static void test_report_pauses__stretches(void **state)
{
	struct run run = minutes(10 * DAY);
	struct report_ranking ranking;

	(void)state;
	lane(&run, TIMELINE_STALL, "loader", "writeback", "vda", 20, 23, 0.5);
	lane(&run, TIMELINE_STALL, "loader", "journal", "vda", 10 * DAY + 30, 10 * DAY + 35, 0.5);
	assert_int_equal(report_rank(&ranking, &run.input, NULL, NULL, NULL), 0);
	assert_string_equal(ranking.primary->name, "journal");
	assert_int_equal(ranking.stretch_count, 2);
	assert_in_range(ranking.stretches[0].begin_ns, T0 + 19 * SECOND, T0 + 20 * SECOND);
	assert_in_range(ranking.stretches[0].end_ns, T0 + 23 * SECOND, T0 + 24 * SECOND);
	assert_int_equal(ranking.stretches[1].begin_ns, ranking.begin_ns);
	assert_int_equal(ranking.stretches[1].end_ns, ranking.end_ns);
	assert_in_range(ranking.begin_ns, T0 + (10 * DAY + 29) * SECOND, T0 + (10 * DAY + 30) * SECOND);
	report_ranking_free(&ranking);
	end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_pauses__an_incident_beside_one),
		cmocka_unit_test(test_report_pauses__stretches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
