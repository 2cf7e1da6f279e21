/* Tests of reports of several jobs: one after another, and side by side. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/request_rows.h"
#include "profiler/report/report.h"
#include "profiler/report/report_forms.h"
#include "profiler/report/report_jobs.h"
#include "tests/unit/profiler/report/planted_run.h"

static struct run recording(int length)
{
	const struct profile_value_type types[] = { { "contentions", "count" }, { "delay", "nanoseconds" } };
	struct run run = { .input = { .timeline = timeline_new(0),
		                      .ledger = ledger_new(0),
		                      .requests = request_rows_new(),
		                      .stamp = stamp_new(),
		                      .owned =
		                              profile_new(types, 2, (struct profile_value_type){ NULL, NULL },
		                                          0, 1 << 20) } };

	run.input.profile = run.input.owned;
	assert_int_equal(stamp_add_window(run.input.stamp, T0, T0 + (uint64_t)length * SECOND), 0);
	return run;
}

static char *report_of(struct run *run, enum report_format format, const struct report_hint *hint)
{
	struct report report;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_make(&report, &run->input, NULL, NULL, hint), 0);
	assert_int_equal(report_write(out, &report, format), 0);
	assert_int_equal(fclose(out), 0);
	report_release(&report);
	return text;
}

static void forget(struct run *run)
{
	request_rows_free(run->input.requests);
	profile_free(run->input.owned);
	end(run);
}

/* A job from second `from` to `to`, which makes so many steps a second and waits for the GPU half of the time. */
static void job(struct run *run, const char *class, int from, int to, int64_t steps)
{
	seconds(run, TIMELINE_ONCPU, class, from, to, (int64_t)SECOND / 2);
	seconds(run, TIMELINE_STEPS, class, from, to, steps);
	lane(run, TIMELINE_STALL, class, "gpu_sync", "", from, to, 0.45);
}

/* What the agent's hint compares with is from before the job whose steps are told began. */
static void test_report_jobs__steps_of_a_new_job(void **state)
{
	const struct report_hint hint = { .begin_ns = T0 + 25 * SECOND,
		                          .baseline_begin_ns = T0 + 2 * SECOND,
		                          .baseline_end_ns = T0 + 10 * SECOND };
	(void)state;
	for (int by_steps = 0; by_steps < 2; by_steps++) {
		struct report_hint told = hint;
		struct run run = recording(30);
		char *text;

		told.by_steps = by_steps;
		row(&run, "eval_step", false, LEDGER_ONCPU, "", 8 * (int64_t)SECOND);
		row(&run, "train_step", false, LEDGER_ONCPU, "", 8 * (int64_t)SECOND);
		job(&run, "eval_step", 0, 15, 2);
		job(&run, "train_step", 15, 30, 8);
		lane(&run, TIMELINE_STALL, "train_step", "block_io", "vda", 25, 30, 0.5);
		text = report_of(&run, REPORT_TEXT, &told);
		assert_non_null(strstr(text, "tagged threads lost"));
		assert_non_null(strstr(text, "Verdict: disk pressure."));
		assert_null(strstr(text, "times a second"));
		assert_null(strstr(text, "0.0 before"));
		free(text);
		forget(&run);
	}
}

/* Its threads were there, and their first step took as long as that. */
static void test_report_jobs__steps_that_only_begin(void **state)
{
	const struct report_hint hint = { .begin_ns = T0 + 25 * SECOND,
		                          .baseline_begin_ns = T0 + 2 * SECOND,
		                          .baseline_end_ns = T0 + 10 * SECOND };
	struct run run = recording(30);
	char *text;

	(void)state;
	row(&run, "train_step", false, LEDGER_ONCPU, "", 16 * (int64_t)SECOND);
	job(&run, "train_step", 0, 15, 0);
	job(&run, "train_step", 15, 30, 8);
	lane(&run, TIMELINE_STALL, "train_step", "block_io", "vda", 25, 30, 0.5);
	text = report_of(&run, REPORT_JSON, &hint);
	assert_non_null(strstr(text, "train_step came 8.0 times a second, not once before."));
	free(text);
	forget(&run);
}

struct process {
	uint32_t pid, rank_and_1;
	uint64_t steps, step_ms;
	uint64_t from; /* second in which it begins */
};

static struct run processes(const struct process *list, size_t n)
{
	struct run run = recording(20);

	job(&run, "train_step", 0, 20, 50);
	stamp_set_booted(run.input.stamp, T0 - 5 * SECOND);
	for (size_t i = 0; i < n; i++) {
		struct ledger_row added = { .tag = (char *)"train_step",
			                    .class = (char *)"train_step",
			                    .cause = (char *)"",
			                    .device = (char *)"",
			                    .comm = (char *)"python3",
			                    .pid = list[i].pid,
			                    .start_ns = (5 + list[i].from) * SECOND,
			                    .rank_and_1 = list[i].rank_and_1,
			                    .ns = (int64_t)(list[i].step_ms * MS) };

		for (added.id = 1; added.id <= list[i].steps; added.id++)
			assert_int_equal(ledger_add(run.input.ledger, &added), 0);
	}
	return run;
}

static void expect_jobs(const struct process *list, size_t n, size_t beside, size_t ranks)
{
	struct report_jobs jobs;
	struct run run = processes(list, n);

	assert_int_equal(report_jobs_find(&jobs, &run.input, "train_step"), 0);
	assert_int_equal(jobs.n, beside);
	assert_int_equal(jobs.ranks, ranks);
	assert_int_equal(jobs.shown, beside < REPORT_JOBS_SHOWN ? beside : REPORT_JOBS_SHOWN);
	forget(&run);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_report_jobs__side_by_side(void **state)
{
	const struct process two[] = { { 1, 0, 190, 100, 0 }, { 2, 0, 95, 200, 0 } };
	const struct process half[] = { { 1, 0, 70, 100, 0 }, { 2, 0, 62, 100, 0 } };
	const struct process same_ranks[] = {
		{ 1, 1, 190, 100, 0 }, { 2, 2, 190, 100, 0 }, { 3, 1, 190, 100, 0 }, { 4, 2, 190, 100, 0 }
	};

	(void)state;
	expect_jobs(two, COUNT(two), 2, 0);
	expect_jobs(half, COUNT(half), 2, 0);
	expect_jobs(same_ranks, COUNT(same_ranks), 4, 2);
}

/* Ranks of a job, a job begun anew, and what was forked under a step. */
static void test_report_jobs__one_job(void **state)
{
	const struct process ranks[] = { { 1, 1, 190, 100, 0 }, { 2, 2, 190, 100, 0 } };
	const struct process anew[] = { { 1, 0, 95, 100, 0 }, { 2, 0, 95, 100, 10 } };
	const struct process forked[] = { { 1, 0, 190, 100, 0 }, { 2, 0, 1, 19000, 0 } };
	const struct process two_threads[] = {
		{ 1, 0, 80, 100, 0 }, { 2, 0, 80, 100, 4 }, { 3, 0, 80, 100, 8 }, { 4, 0, 40, 100, 12 }
	};

	(void)state;
	expect_jobs(ranks, COUNT(ranks), 0, 0);
	expect_jobs(anew, COUNT(anew), 0, 0);
	expect_jobs(forked, COUNT(forked), 0, 0);
	expect_jobs(two_threads, COUNT(two_threads), 0, 0); /* and begun anew */
}

/* The slower one first. */
static void test_report_jobs__words(void **state)
{
	const struct process two[] = { { 1, 0, 190, 100, 0 }, { 2, 0, 95, 200, 0 } };
	const struct process same_ranks[] = { { 1, 1, 190, 100, 0 }, { 3, 1, 190, 100, 0 } };
	struct run run = processes(two, COUNT(two));
	char *text = report_of(&run, REPORT_JSON, NULL);

	(void)state;
	assert_non_null(strstr(
	        text,
	        "2 processes without a rank made train_step, and may have done so at the same time: "
	        "python3[2] 95 "
	        "times (p50 200 ms, "
	        "p99 "
	        "200 ms), python3[1] 190 times (p50 100 ms, p99 100 ms). Nothing recorded says whether they "
	        "are one job, and all that is said here is of them together: record each job by itself "
	        "(--pid, "
	        "--cgroup) to tell them apart."));
	assert_non_null(strstr(text, "\"side_by_side\": {"));
	free(text);
	forget(&run);
	run = processes(same_ranks, COUNT(same_ranks));
	text = report_of(&run, REPORT_JSON, NULL);
	assert_non_null(strstr(text, "2 processes of the same ranks made train_step, and may have done so at "
	                             "the same time: rank 0 "));
	assert_non_null(strstr(text, ". So there may be several jobs, and all"));
	free(text);
	forget(&run);
}

/* Of two jobs' ranks none came last of all. */
static void test_report_jobs__no_last_rank(void **state)
{
	const struct process list[] = {
		{ 1, 1, 190, 50, 0 }, { 2, 2, 190, 50, 0 }, { 3, 1, 190, 100, 0 }, { 4, 2, 190, 100, 0 }
	};

	(void)state;
	for (size_t jobs = 1; jobs <= 2; jobs++) {
		struct run run = processes(list, 2 * jobs);
		char *text;

		assert_int_equal(
		        stamp_add_hook(run.input.stamp, "collective", "libnccl.so", HOOK_ATTACHED, ""), 0);
		for (size_t i = 0; i < 2 * jobs; i++) {
			struct ledger_row wait = { .tag = (char *)"train_step",
				                   .class = (char *)"train_step",
				                   .id = 1,
				                   .pid = list[i].pid,
				                   .start_ns = 5 * SECOND,
				                   .rank_and_1 = list[i].rank_and_1,
				                   .state = LEDGER_STALL,
				                   .cause = (char *)"collective",
				                   .device = (char *)"",
				                   .ns = (int64_t)((i % 2 ? 1 : 8) * SECOND) };

			assert_int_equal(ledger_add(run.input.ledger, &wait), 0);
		}
		text = report_of(&run, REPORT_JSON, NULL);
		assert_true((strstr(text, "\"last_rank\"") != NULL) == (jobs == 1));
		free(text);
		forget(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_jobs__steps_of_a_new_job),
		cmocka_unit_test(test_report_jobs__steps_that_only_begin),
		cmocka_unit_test(test_report_jobs__side_by_side),
		cmocka_unit_test(test_report_jobs__one_job),
		cmocka_unit_test(test_report_jobs__words),
		cmocka_unit_test(test_report_jobs__no_last_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
