/* Tests of report_verdict.h: what is said of the whole recording, beside an incident or without one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/unit/profiler/report/narrative_fixture.h"

static void used(const char *signal, const char *process, const char *device, int from, int to, int64_t each)
{
	const struct timeline_lane key = { .kind = TIMELINE_SIGNAL,
		                           .class = process,
		                           .name = signal,
		                           .device = device,
		                           .bucket_ns = SECOND };

	for (int at = from; at < to; at++)
		assert_int_equal(timeline_add(input.timeline, &key, T0 + (uint64_t)at * SECOND,
		                              T0 + (uint64_t)(at + 1) * SECOND, each),
		                 0);
}

/* Who was there from the beginning to the end, so that nothing grew. */
static void test_report_whole__who_used_the_cpus_all_the_time(void **state)
{
	char *text;

	(void)state;
	used(HOST_USER_CPU, "stress-ng (11)", "", 0, 20, 900000000);
	used(HOST_USER_DISK, "dd (12)", "vda", 0, 20, 300000000);
	spent("train_step", LEDGER_RUNQUEUE, "", 10 * (int64_t)SECOND);
	text = report_with(NULL);
	expect(text, "Verdict: CPU contention.");
	expect(text, " wall time. CPUs were used most by: stress-ng (pid 11, 0.9 CPUs).");
	assert_null(strstr(text, "dd (pid"));
	free(text);
	text = report_in(REPORT_JSON, NULL);
	expect(text, "\"whole_users\": [");
	expect(text, "\"process\": \"stress-ng (11)\"");
	free(text);
}

static void test_report_whole__who_used_the_disk_all_the_time(void **state)
{
	char *text;

	(void)state;
	used(HOST_USER_CPU, "stress-ng (11)", "", 0, 20, 900000000);
	used(HOST_USER_DISK, "dd (12)", "vda", 0, 20, 300000000);
	lane(TIMELINE_STALL, "train_step", "block_io", "vda", 0, 20, 0.3);
	lane(TIMELINE_STALL, "train_step", "block_io", "vda", 9, 11, 0.6);
	stalled("block_io", "vda", 7200 * (int64_t)MS);
	text = report_with(NULL);
	expect(text, "most of that is usual here. vda was used most, without a tag, by: dd "
	             "(pid 12, 300 MB/s).");
	assert_null(strstr(text, "stress-ng (pid"));
	free(text);
}

/* A short incident does not hide what takes far more all the time. */
static void test_report_whole__the_whole_took_more_than_the_incident(void **state)
{
	char *text;

	(void)state;
	lane(TIMELINE_STALL, "train_step", "throttle", "vda", 9, 11, 0.8);
	lane(TIMELINE_STALL, "train_step", "block_io", "vdb", 0, 20, 0.3);
	stalled("throttle", "vda", 1600 * (int64_t)MS);
	stalled("block_io", "vdb", 6 * (int64_t)SECOND);
	text = report_with(NULL);
	expect(text, "throttle on vda (");
	expect(text, "In the whole recording block\\_io on vdb (");
	expect(text, ") took 6.00 s, 34.1 % of the tagged threads' wall time: most of that is usual here.");
	expect(text, "block\\_io took more in the whole recording than the incident did");
	free(text);
}

/* Nor does it hide that its own cause took far more. */
static void test_report_whole__the_whole_is_of_the_same_cause(void **state)
{
	char *text;

	(void)state;
	lane(TIMELINE_STALL, "train_step", "throttle", "vda", 0, 20, 0.3);
	lane(TIMELINE_STALL, "train_step", "throttle", "vda", 9, 11, 0.6);
	stalled("throttle", "vda", 7200 * (int64_t)MS);
	text = report_with(NULL);
	expect(text, "In the whole recording throttle on vda took 7.20 s, 41.9 %");
	assert_null(strstr(text, "than the incident did"));
	free(text);
}

/* Several incidents of one cause are not what is usual. */
static void test_report_whole__the_whole_is_several_incidents(void **state)
{
	char *text;

	(void)state;
	for (int second = 1; second < 20; second += 6)
		lane(TIMELINE_STALL, "train_step", "throttle", "vda", second, second + 1, 0.8);
	stalled("throttle", "vda", 3200 * (int64_t)MS);
	text = report_with(NULL);
	expect(text, "In the whole recording throttle on vda took 3.20 s, 24.2 % of the tagged threads' wall "
	             "time.");
	assert_null(strstr(text, "usual here"));
	free(text);
}

/* A loop with a pace of its own, which stands still and then catches up: usual is what came before. */
static void test_report_whole__a_loop_that_catches_up(void **state)
{
	char *text;

	(void)state;
	seconds(TIMELINE_STEPS, 0, 10, 40);
	seconds(TIMELINE_STEPS, 11, 12, 80);
	seconds(TIMELINE_STEPS, 12, 20, 40);
	lane(TIMELINE_STALL, "train_step", "throttle", "vda", 10, 11, 0.9);
	text = report_with(NULL);
	expect(text, "Steps a second: 40.0 before, ");
	free(text);
}

/* Below twice the incident's time nothing is added: it is the incident's, mostly. */
static void test_report_whole__the_whole_is_the_incident(void **state)
{
	char *text;

	(void)state;
	lane(TIMELINE_STALL, "train_step", "throttle", "vda", 9, 11, 0.8);
	stalled("throttle", "vda", 1600 * (int64_t)MS);
	stalled("block_io", "vdb", 3000 * (int64_t)MS);
	text = report_with(NULL);
	assert_null(strstr(text, "In the whole recording"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_report_whole__who_used_the_cpus_all_the_time, begin,
		                                end),
		cmocka_unit_test_setup_teardown(test_report_whole__who_used_the_disk_all_the_time, begin,
		                                end),
		cmocka_unit_test_setup_teardown(test_report_whole__the_whole_took_more_than_the_incident,
		                                begin, end),
		cmocka_unit_test_setup_teardown(test_report_whole__the_whole_is_of_the_same_cause, begin,
		                                end),
		cmocka_unit_test_setup_teardown(test_report_whole__the_whole_is_several_incidents, begin,
		                                end),
		cmocka_unit_test_setup_teardown(test_report_whole__a_loop_that_catches_up, begin, end),
		cmocka_unit_test_setup_teardown(test_report_whole__the_whole_is_the_incident, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
