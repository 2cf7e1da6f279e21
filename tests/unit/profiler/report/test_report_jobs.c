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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_jobs__steps_of_a_new_job),
		cmocka_unit_test(test_report_jobs__steps_that_only_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
