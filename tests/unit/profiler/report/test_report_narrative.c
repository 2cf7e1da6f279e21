/* Tests of report_narrative.h: what the sentences of planted incidents say. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/unit/profiler/report/narrative_fixture.h"

static char *slower_steps(double threads)
{
	seconds(TIMELINE_STEPS, 0, 10, 60);
	seconds(TIMELINE_STEPS, 10, 14, 20);
	seconds(TIMELINE_STEPS, 14, 20, 60);
	lane(TIMELINE_STALL, "train_step", "gpu_sync", "", 0, 20, 0.5);
	lane(TIMELINE_STALL, "train_step", "gpu_sync", "", 10, 14, threads);
	return report_with(NULL);
}

static void test_report_narrative__sigmas_of_the_lost_time(void **state)
{
	char *text = slower_steps(0.05);

	(void)state;
	expect(text, "0.50 threads before (sigma 0.03), 0.55 during, 1.9 sigmas more: 194 ms more in all.");
	expect(text, "Steps a second: 60.0 before, 20.0 during, 13.3 sigmas fewer.");
	free(text);
}

static void test_report_narrative__less_time_lost(void **state)
{
	char *text = slower_steps(-0.4);

	(void)state;
	expect(text, "the time that tagged threads lost went down (0.11 threads, usually 0.50)");
	expect(text, "0.50 threads before (sigma 0.03), 0.11 during, 15.5 sigmas less: 1.55 s less in all.");
	expect(text,
	       "No wait grew: each train\\_step ran 25.0 ms on a CPU instead of 8.33 ms, with more to do");
	expect(text, "What train\\_step computes: ");
	free(text);
}

/* A disk that is slow, with a pause of a second, is one incident; what is far away or of another cause is listed. */
static void test_report_narrative__neighbours_of_the_same_cause(void **state)
{
	char *text;

	(void)state;
	lane(TIMELINE_STALL, "train_step", "throttle", "vda", 5, 7, 0.8);
	lane(TIMELINE_STALL, "train_step", "throttle", "vda", 8, 10, 0.8);
	lane(TIMELINE_STALL, "train_step", "block_io", "vdb", 11, 12, 0.8);
	lane(TIMELINE_STALL, "train_step", "throttle", "vda", 16, 17, 0.8);
	text = report_with(NULL);
	expect(text, "From 2023-11-14 22:13:24.8 UTC on, for 5.40 s, tagged threads lost 0.59 threads");
	expect(text, "throttle on vda: ");
	expect(text, "3 stretches stand out; this is about the one in which most time was lost.");
	expect(text, "| the others: from | for | lost more | primary cause |\n| --- | --- | --- | --- |\n"
	             "| 2023-11-14 22:13:30.8 UTC | 1\\.40 s | 800 ms | block\\_io on vdb |\n"
	             "| 2023-11-14 22:13:35.8 UTC | 1\\.40 s | 800 ms | throttle on vda |\n\n");
	free(text);
}

/* The wait for the loader stands out more than what the loader waits for. */
static void test_report_narrative__why_it_is_the_primary_cause(void **state)
{
	char *text;

	(void)state;
	lane(TIMELINE_STALL, "train_step", "block_io", "vda", 3, 4, 0.1);
	lane(TIMELINE_BLOCKED, "train_step", "poll", "", 8, 11, 1.5);
	lane(TIMELINE_STALL, "train_step", "block_io", "vda", 8, 9.5, 0.6);
	text = report_with(NULL);
	expect(text, "| poll |");
	expect(text, "| block\\_io on vda (primary) |");
	assert_true(strstr(text, "| poll |") < strstr(text, "(primary) |"));
	expect(text,
	       "poll has a higher score, but is not the primary cause, as it is a wait for other threads or "
	       "peers, and what those did comes before it.");
	free(text);
}

/* What a live report has is no whole incident. */
static void test_report_narrative__while_it_goes_on(void **state)
{
	const struct report_hint hint = { .begin_ns = T0 + 17 * SECOND,
		                          .baseline_begin_ns = T0 + SECOND,
		                          .baseline_end_ns = T0 + 8 * SECOND };
	char *text;

	(void)state;
	lane(TIMELINE_STALL, "train_step", "throttle", "vda", 17, 20, 0.8);
	text = report_with(&hint);
	expect(text, "on, for 3.00 s so far, tagged threads lost");
	expect(text, "This report was written while it went on");
	free(text);
}

/* The part of the loop that lost most, and one that lost nearly as much, as shares of the time of all of it. */
static void test_report_narrative__what_the_loop_lost_most_to(void **state)
{
	char *text;

	(void)state;
	spent("train_step", LEDGER_RUNQUEUE, "", 3 * (int64_t)SECOND);
	spent("train_step", LEDGER_BLOCKED, "lock", 2 * (int64_t)SECOND);
	spent("save", LEDGER_ONCPU, "", (int64_t)SECOND);
	spent("save", LEDGER_STALL, "writeback", 4 * (int64_t)SECOND);
	text = report_with(NULL);
	expect(text, "Of the loop's time train\\_step lost most: 5.00 s off the CPU (25.0 %), of it 3.00 s "
	             "runqueue; then save: 4.00 s (20.0 %), of it 4.00 s writeback.");
	free(text);
}

/* Numbers of a crafted profile, whose sums have no room in their type. */
static void test_report_narrative__sums_beyond_their_type(void **state)
{
	struct report report;
	char *text;

	(void)state;
	seconds(TIMELINE_STEPS, 0, 2, INT64_MAX);
	spent("train_step", LEDGER_STALL, "nvme_reset", INT64_MAX);
	spent("save", LEDGER_STALL, "nvme_reset", INT64_MAX);
	lane(TIMELINE_STALL, "train_step", "block_io", "vda", 10, 14, 0.9);
	assert_int_equal(report_make(&report, &input, NULL, NULL, NULL), 0);
	assert_string_equal(report.ranking.steps, "train_step");
	report_release(&report);
	text = report_with(NULL);
	expect(text, "Besides, nvme\\_reset took 9223372037 s in the whole recording.");
	free(text);
}

/* Waits for a lock in a function, by one thread. */
static void waited(const char *function, bool gil, const char *waker, int64_t tid, int64_t ns)
{
	const struct profile_frame frames[] = { { .function = "[GIL]" },
		                                { .function = function, .file = "train.py", .line = 7 } };
	const struct profile_label labels[] = { { .key = "ai_tag", .str = "train_step" },
		                                { .key = "stall", .str = "lock" },
		                                { .key = "woken_by", .str = waker },
		                                { .key = "tid", .num = tid, .unit = "id" } };
	const int64_t values[] = { 1, ns },
	              mapping = profile_mapping(input.owned, 1, 2, 0, "[python]", NULL, true, true);
	int64_t ids[2];

	for (int i = 0; i < 2; i++)
		ids[i] = profile_location(input.owned, mapping, 0, &frames[i], 1);
	assert_int_equal(profile_add_sample(input.owned, ids + !gil, 1 + gil, values, labels, 4), 0);
}

/* Not the waker of one wait for all of them. */
static void test_report_narrative__who_ended_most(void **state)
{
	char *text;

	(void)state;
	spent("train_step", LEDGER_BLOCKED, "lock", 10 * (int64_t)SECOND);
	for (int tid = 1; tid <= 3; tid++)
		waited("log_metrics", false, "flusher", tid, 2 * (int64_t)SECOND);
	waited("log_metrics", false, "loader", 4, 4 * (int64_t)SECOND);
	text = report_with(NULL);
	expect(text,
	       ": for 10.0 s of it by lock, mostly ended by program flusher, at log\\_metrics train.py:7.");
	free(text);
}

static void held(const char *tag, bool base, const char *program)
{
	const struct ledger_row row = { .tag = (char *)tag,
		                        .class = (char *)tag,
		                        .base = base,
		                        .pid = base ? 1 : 2,
		                        .comm = (char *)program,
		                        .state = LEDGER_ONCPU,
		                        .cause = (char *)"",
		                        .device = (char *)"",
		                        .ns = (int64_t)MS };

	assert_int_equal(ledger_add(input.ledger, &row), 0);
}

/* A tag may have the name of a file, which is no program's. */
static void test_report_narrative__tag_or_program(void **state)
{
	char *text;

	(void)state;
	held("train.py", true, "pt_main_thread");
	spent("train_step", LEDGER_BLOCKED, "lock", 10 * (int64_t)SECOND);
	waited("log_metrics", false, "train.py", 1, 10 * (int64_t)SECOND);
	text = report_with(NULL);
	expect(text,
	       " by lock, ended by tag train.py (program pt\\_main\\_thread, a thread without a tag of its "
	       "own), at log\\_metrics train.py:7.");
	free(text);
	text = report_in(REPORT_JSON, NULL);
	expect(text, "\"woken_by\": \"train.py\"");
	expect(text, "\"woken_by_kind\": \"tag\"");
	free(text);
	held("train.py", false, "pusher"); /* it may have been this one */
	text = report_with(NULL);
	expect(text, " by lock, ended by tag train.py (programs ");
	assert_null(strstr(text, "a thread without a tag of its own"));
	free(text);
}

/* For the GIL at whatever line. */
static void test_report_narrative__who_ended_waits_for_the_gil(void **state)
{
	char *text;

	(void)state;
	spent("train_step", LEDGER_BLOCKED, "lock", 10 * (int64_t)SECOND);
	waited("parse", true, "loader", 1, 4 * (int64_t)SECOND);
	waited("pack", true, "loader", 1, (int64_t)SECOND);
	waited("pack", true, "flusher", 1, 2 * (int64_t)SECOND);
	text = report_with(NULL);
	expect(text,
	       ": for 7.00 s of it by lock (the GIL), mostly ended by program loader, for example at parse "
	       "train.py:7.");
	free(text);
}

/* What the Ranking has first is told, though it is no stall and of no loop. */
static void test_report_narrative__waits_for_others_all_the_time(void **state)
{
	char *text;

	(void)state;
	spent("saver", LEDGER_BLOCKED, "lock", 40 * (int64_t)SECOND);
	text = report_with(NULL);
	expect(text, "No stall is to blame: no stretch of time stands out by three sigma, and no stall or "
	             "wait for a CPU takes 5 % of the tagged threads' wall time; lock (waiting for another "
	             "thread (a lock, a queue)) took 80.0 % of it.");
	expect(text, "- Tag the thread that is waited for, so that its own waits are seen.\n"
	             "- \\`stallprof top FILE --stall lock --native\\` has all stacks of it.\n");
	assert_null(strstr(text, "Nothing"));
	free(text);
}

/* A loop with ids, which waits for a lock all the time, beside a backup that it does not feel. */
static void test_report_narrative__what_a_loop_waits_for(void **state)
{
	struct ledger_row tag = { .tag = (char *)"train_step",
		                  .class = (char *)"train_step",
		                  .cause = (char *)"",
		                  .device = (char *)"",
		                  .ns = 1 };
	char *text;

	(void)state;
	for (tag.id = 1; tag.id <= 800; tag.id++)
		assert_int_equal(ledger_add(input.ledger, &tag), 0);
	seconds(TIMELINE_STEPS, 0, 20, 40);
	spent("train_step", LEDGER_ONCPU, "", 9 * (int64_t)SECOND);
	spent("train_step", LEDGER_BLOCKED, "lock", 1100 * (int64_t)MS);
	spent("backup", LEDGER_STALL, "block_io", 5 * (int64_t)SECOND);
	text = report_in(REPORT_JSON, NULL);
	expect(text, "\"verdict\": \"the loop waits for another thread\"");
	expect(text,
	       "Verdict: the loop waits for another thread, which need not be a fault. lock (waiting for "
	       "another thread (a lock, a queue)) took 5.5 % of the loop's time. Besides, block_io "
	       "(waiting for requests of a disk) took 19.9 % of the tagged threads' wall time, but cost "
	       "the loop 5.5 % of its time at most.");
	expect(text, "Tag the thread that is waited for, so that its own waits are seen.");
	free(text);
}

/* Little of all the time is nothing to tell of. */
static void test_report_narrative__few_waits_for_others(void **state)
{
	char *text;

	(void)state;
	spent("saver", LEDGER_BLOCKED, "lock", 400 * (int64_t)MS);
	text = report_with(NULL);
	expect(text, "Nothing is wrong: no stretch of time stands out by three sigma, and no cause takes 5 % "
	             "of the tagged threads' wall time.");
	expect(text, "- Nothing for this window.");
	free(text);
}

/* A program that pushes no tags: all of its threads' waits are under its own. */
static void test_report_narrative__waits_that_nobody_judges(void **state)
{
	struct ledger_row row = { .tag = (char *)"train.py",
		                  .class = (char *)"train.py",
		                  .base = true,
		                  .cause = (char *)"",
		                  .device = (char *)"" };
	char *text;

	(void)state;
	for (int sleeps = 0; sleeps < 2; sleeps++) { /* as it was told to */
		ledger_free(input.ledger);
		input.ledger = ledger_new(0);
		row.state = LEDGER_ONCPU;
		row.cause = (char *)"";
		row.ns = 2 * (int64_t)SECOND;
		assert_int_equal(ledger_add(input.ledger, &row), 0);
		row.state = LEDGER_BLOCKED;
		row.cause = (char *)(sleeps ? "sleep" : "socket");
		row.ns = 18 * (int64_t)SECOND;
		assert_int_equal(ledger_add(input.ledger, &row), 0);
		text = report_with(NULL);
		expect(text, sleeps ? "Nothing is wrong: " : "No stall is to blame: ");
		if (sleeps)
			assert_null(strstr(text, "judged"));
		else
			expect(text, "90 % of their time the threads waited for each other and for peers: "
			             "that is not judged");
		free(text);
	}
}

/* That is what a good loop does, and says nothing of what else it waits for. */
static void test_report_narrative__bound_by_the_gpu(void **state)
{
	char *text;

	(void)state;
	stalled("gpu_sync", "", 8 * (int64_t)SECOND);
	text = report_with(NULL);
	expect(text,
	       "Verdict: GPU-bound. gpu\\_sync (waiting for the GPU in a driver's library) took 44.4 % of "
	       "the tagged threads' wall time, as it is where the GPU always has work");
	assert_null(strstr(text, "Besides"));
	free(text);
	stalled("block_io", "vda", 2 * (int64_t)SECOND);
	text = report_with(NULL);
	expect(text, "Verdict: GPU-bound.");
	expect(text, "Besides, block\\_io on vda (");
	expect(text, ") took 10.0 % of the tagged threads' wall time.");
	free(text);
}

/* Programs are told to do the same next as people are. */
static void test_report_narrative__next_in_json(void **state)
{
	char *text = report_in(REPORT_JSON, NULL);

	(void)state;
	expect(strstr(text, "\"next\": ["),
	       "\"Nothing for this window. `stallprof top FILE` has where the time "
	       "went.\"\n  ],");
	free(text);
	lane(TIMELINE_STALL, "train_step", "throttle", "vda", 9, 11, 0.8);
	lane(TIMELINE_STALL, "train_step", "block_io", "vdb", 0, 20, 0.3);
	stalled("throttle", "vda", 1600 * (int64_t)MS);
	stalled("block_io", "vdb", 6 * (int64_t)SECOND);
	text = report_in(REPORT_JSON, NULL);
	expect(strstr(text, "\"next\": ["),
	       "time.\",\n    \"`stallprof top FILE --stall throttle --native` has all stacks of it.\",\n    "
	       "\"block_io took more in the whole recording than the incident did: see `stallprof top FILE`, "
	       "too.\"\n  ],");
	free(text);
}

/* A run that is compared with itself. */
static void test_report_narrative__as_the_baseline(void **state)
{
	char *text;

	(void)state;
	lane(TIMELINE_STALL, "train_step", "block_io", "vda", 0, 20, 0.25);
	stalled("block_io", "vda", 5 * (int64_t)SECOND);
	text = report_in(REPORT_JSON, NULL);
	expect(text, "\"verdict\": \"disk pressure\"");
	expect(text, "\"share_of_primary\": null");
	free(text);
	text = report_beside(REPORT_MARKDOWN, NULL, &input);
	expect(text,
	       "Nothing stands out of the baseline. Verdict: as the baseline. block\\_io on vda (waiting for "
	       "requests of a disk) took 33.3 % of the tagged threads' wall time, in the baseline 33.3 %.");
	free(text);
	text = report_beside(REPORT_JSON, NULL, &input);
	expect(text, "\"verdict\": \"as the baseline\"");
	expect(text, "\"share_of_primary\": 0.333");
	free(text);
}

/* So much of each second from `from` to `to`, which may lie before the window. */
static void stalled_before(int from, int to, int64_t ns)
{
	const struct timeline_lane key = { .kind = TIMELINE_STALL,
		                           .class = "train_step",
		                           .name = "block_io",
		                           .device = "vda",
		                           .bucket_ns = SECOND };

	for (int at = from; at < to; at++) {
		uint64_t begin_ns = T0 + (uint64_t)at * SECOND; /* modulo 2^64 */

		assert_int_equal(timeline_add(input.timeline, &key, begin_ns, begin_ns + SECOND, ns), 0);
	}
}

/* A timeline may be longer than its window (reports of an incident that goes on). Of a run in which nothing stands out nothing began. */
static void test_report_narrative__began_before_the_window(void **state)
{
	static const char sentence[] = "The incident began before this window";
	char *text;

	(void)state;
	seconds(TIMELINE_ONCPU, -40, 0, SECOND / 2);
	stalled_before(-40, 20, (int64_t)SECOND / 4);
	stalled("block_io", "vda", 5 * (int64_t)SECOND);
	text = report_with(NULL);
	expect(text, "Nothing stands out in time");
	assert_null(strstr(text, sentence));
	free(text);
	stalled_before(-20, -10, 2 * (int64_t)SECOND);
	text = report_with(NULL);
	expect(text, sentence);
	free(text);
}

static void test_report_narrative__a_full_timeline(void **state)
{
	const struct timeline_lane left_out[] = { { .kind = TIMELINE_ONCPU, .class = "data_load" },
		                                  { .kind = TIMELINE_STEPS, .class = "data_load" } };
	char *text;

	(void)state;
	text = report_with(NULL);
	assert_null(strstr(text, "full"));
	free(text);
	assert_int_equal(stamp_add_counter(input.stamp, "timeline_refused", 7), 0);
	text = report_with(NULL);
	expect(text, "The timeline was full, and 7 values are not on it: what is said here of when is not of "
	             "all threads.");
	free(text);
	assert_int_equal(timeline_refuse(input.timeline, &left_out[0]), 0);
	assert_int_equal(timeline_refuse(input.timeline, &left_out[1]), 0);
	text = report_with(NULL);
	expect(text, "The timeline was full, and 2 of its lanes are left out: ");
	expect(text, "The timeline was full: 2 of its lanes are left out, so when what they tell of was is "
	             "not known.");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_report_narrative__sigmas_of_the_lost_time, begin, end),
		cmocka_unit_test_setup_teardown(test_report_narrative__less_time_lost, begin, end),
		cmocka_unit_test_setup_teardown(test_report_narrative__neighbours_of_the_same_cause, begin,
		                                end),
		cmocka_unit_test_setup_teardown(test_report_narrative__why_it_is_the_primary_cause, begin,
		                                end),
		cmocka_unit_test_setup_teardown(test_report_narrative__while_it_goes_on, begin, end),
		cmocka_unit_test_setup_teardown(test_report_narrative__what_the_loop_lost_most_to, begin,
		                                end),
		cmocka_unit_test_setup_teardown(test_report_narrative__sums_beyond_their_type, begin, end),
		cmocka_unit_test_setup_teardown(test_report_narrative__who_ended_most, begin, end),
		cmocka_unit_test_setup_teardown(test_report_narrative__tag_or_program, begin, end),
		cmocka_unit_test_setup_teardown(test_report_narrative__who_ended_waits_for_the_gil, begin,
		                                end),
		cmocka_unit_test_setup_teardown(test_report_narrative__waits_for_others_all_the_time, begin,
		                                end),
		cmocka_unit_test_setup_teardown(test_report_narrative__what_a_loop_waits_for, begin, end),
		cmocka_unit_test_setup_teardown(test_report_narrative__few_waits_for_others, begin, end),
		cmocka_unit_test_setup_teardown(test_report_narrative__waits_that_nobody_judges, begin, end),
		cmocka_unit_test_setup_teardown(test_report_narrative__bound_by_the_gpu, begin, end),
		cmocka_unit_test_setup_teardown(test_report_narrative__next_in_json, begin, end),
		cmocka_unit_test_setup_teardown(test_report_narrative__as_the_baseline, begin, end),
		cmocka_unit_test_setup_teardown(test_report_narrative__began_before_the_window, begin, end),
		cmocka_unit_test_setup_teardown(test_report_narrative__a_full_timeline, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
