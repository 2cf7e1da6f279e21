/* Tests of report_away.h: runs whose tagged threads were not there for a while. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/report/report_away.h"
#include "tests/unit/profiler/report/planted_run.h"

static struct run a_recording(bool base)
{
	struct run run = {
		.input = { .timeline = timeline_new(0), .ledger = ledger_new(0), .stamp = stamp_new() }
	};

	row(&run, "train_step", base, LEDGER_ONCPU, "", (int64_t)SECOND);
	return run;
}

/* Threads from second `from` to `to`. */
static void there(struct run *run, int from, int to)
{
	seconds(run, TIMELINE_ONCPU, "train_step", from, to, (int64_t)SECOND / 2);
	seconds(run, TIMELINE_STEPS, "train_step", from, to, 10);
	lane(run, TIMELINE_STALL, "train_step", "gpu_sync", "", from, to, 0.5);
}

static struct report_away away_of(struct run *run)
{
	struct report_away away;
	struct report_view view;

	assert_int_equal(report_view_open(&view, &run->input, NULL), 0);
	assert_int_equal(report_away_find(&away, &view), 0);
	report_view_close(&view);
	end(run);
	return away;
}

static void expect(const struct report_away *away, int from, int to, int all, size_t count)
{
	assert_int_equal(away->ns, (uint64_t)all * SECOND);
	assert_int_equal(away->begin_ns, T0 + (uint64_t)from * SECOND);
	assert_int_equal(away->end_ns, T0 + (uint64_t)to * SECOND);
	assert_int_equal(away->count, count);
}

static void test_report_away__a_restart(void **state)
{
	struct run run = a_recording(false);
	struct report_away away;

	(void)state;
	assert_int_equal(stamp_add_window(run.input.stamp, T0, T0 + 60 * SECOND), 0);
	there(&run, 0, 10);
	there(&run, 50, 60);
	away = away_of(&run);
	expect(&away, 10, 50, 40, 1);
}

/* After the program has ended, not before it begins; a pause of less than ten seconds is none. */
static void test_report_away__at_both_ends(void **state)
{
	struct run run = a_recording(false);
	struct report_away away;

	(void)state;
	assert_int_equal(stamp_add_window(run.input.stamp, T0, T0 + 60 * SECOND), 0);
	there(&run, 12, 30);
	there(&run, 39, 45);
	away = away_of(&run);
	expect(&away, 45, 60, 15, 1);
}

/* Threads that end and begin in the middle of a second, whose last and first time is told in two of them, as the ledger is read in between. */
static void test_report_away__in_the_middle_of_seconds(void **state)
{
	struct run run = a_recording(false);
	struct report_away away;

	(void)state;
	assert_int_equal(stamp_add_window(run.input.stamp, T0, T0 + 75 * SECOND + 300 * MS), 0);
	there(&run, 0, 20);
	seconds(&run, TIMELINE_ONCPU, "train_step", 20, 21, (int64_t)(600 * MS));
	seconds(&run, TIMELINE_STEPS, "train_step", 20, 21, 6);
	seconds(&run, TIMELINE_ONCPU, "train_step", 21, 22, (int64_t)(50 * MS));
	seconds(&run, TIMELINE_STEPS, "train_step", 21, 22, 1);
	seconds(&run, TIMELINE_ONCPU, "train_step", 44, 45, (int64_t)(300 * MS));
	there(&run, 45, 60);
	away = away_of(&run);
	assert_int_equal(away.count, 2);
	/* From 20.65 to 44.7, and from 60 to the recording's end. */
	assert_in_range(away.begin_ns, T0 + 20640 * MS, T0 + 20660 * MS);
	assert_in_range(away.end_ns, T0 + 44690 * MS, T0 + 44710 * MS);
	assert_in_range(away.ns, 39340 * MS, 39360 * MS);
}

static void test_report_away__steps_or_waits_go_on(void **state)
{
	struct run run = a_recording(false);
	struct report_away away;

	(void)state;
	assert_int_equal(stamp_add_window(run.input.stamp, T0, T0 + 60 * SECOND), 0);
	there(&run, 0, 60);
	seconds(&run, TIMELINE_STEPS, "train_step", 60, 80, 1);
	lane(&run, TIMELINE_BLOCKED, "train_step", "lock", "", 80, 90, 1);
	assert_int_equal(stamp_add_window(run.input.stamp, T0 + 60 * SECOND, T0 + 90 * SECOND), 0);
	away = away_of(&run);
	assert_int_equal(away.ns, 0);
}

/* Windows that leave something out: what was there in between nobody knows. Nor is it known of processes' own tags, whose waits may be that
 * they idle. */
static void test_report_away__what_cannot_be_told(void **state)
{
	struct run apart = a_recording(false), base = a_recording(true);
	struct report_away away;

	(void)state;
	assert_int_equal(stamp_add_window(apart.input.stamp, T0, T0 + 10 * SECOND), 0);
	assert_int_equal(stamp_add_window(apart.input.stamp, T0 + 50 * SECOND, T0 + 60 * SECOND), 0);
	there(&apart, 0, 10);
	there(&apart, 50, 60);
	away = away_of(&apart);
	assert_int_equal(away.ns, 0);
	assert_int_equal(stamp_add_window(base.input.stamp, T0, T0 + 60 * SECOND), 0);
	there(&base, 0, 10);
	there(&base, 50, 60);
	away = away_of(&base);
	assert_int_equal(away.ns, 0);
}

/* Where lanes are missing, so may be those of the threads that were there. */
static void test_report_away__a_full_timeline(void **state)
{
	const struct timeline_lane left_out = { .kind = TIMELINE_ONCPU, .class = "data_load" };

	(void)state;
	for (int full = 0; full < 3; full++) {
		struct run run = a_recording(false);

		assert_int_equal(stamp_add_window(run.input.stamp, T0, T0 + 60 * SECOND), 0);
		there(&run, 0, 10);
		there(&run, 50, 60);
		if (full == 1)
			assert_int_equal(timeline_refuse(run.input.timeline, &left_out), 0);
		else
			assert_int_equal(stamp_add_counter(run.input.stamp, "timeline_refused", full), 0);
		assert_int_equal(away_of(&run).ns, full ? 0 : 40 * SECOND);
	}
}

static void test_report_away__words(void **state)
{
	struct report_away away = {
		.ns = 40 * SECOND, .begin_ns = T0 + 10 * SECOND, .end_ns = T0 + 50 * SECOND, .count = 1
	};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	report_away_text(out, &away);
	fputc('\n', out);
	away.count = 2;
	away.blind = true;
	report_away_text(out, &away);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(
	        text,
	        "For 40.0 s (from 2023-11-14 22:13:30.0 UTC to 2023-11-14 22:14:10.0 UTC) hardly a tagged "
	        "thread ran, waited long or began a step: the program had ended, did what has no tag, or "
	        "waited too "
	        "briefly at a time to be sampled. This time is not judged\n"
	        "For 40.0 s (2 stretches, the longest from 2023-11-14 22:13:30.0 UTC to 2023-11-14 "
	        "22:14:10.0 "
	        "UTC) hardly a tagged thread ran, stalled or began a step: the program had ended, did what "
	        "has no "
	        "tag, or waited for what is no stall, which was not recorded. This time is not judged");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_away__a_restart),
		cmocka_unit_test(test_report_away__at_both_ends),
		cmocka_unit_test(test_report_away__in_the_middle_of_seconds),
		cmocka_unit_test(test_report_away__steps_or_waits_go_on),
		cmocka_unit_test(test_report_away__what_cannot_be_told),
		cmocka_unit_test(test_report_away__a_full_timeline),
		cmocka_unit_test(test_report_away__words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
