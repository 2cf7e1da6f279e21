/* Tests of sink.h with a spool: windows that a server does not take outlive the sink. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>

#include "tests/unit/profiler/output/spool_sinks.h"

/* --- tests -------------------------------------------------------------------------------------------------- */

static void test_sink_spool__a_server_that_takes_all_costs_no_write(void **state)
{
	struct sink *sink = sink_of("job-a");
	struct stat st, now;

	(void)state;
	server.status = 200;
	assert_int_equal(stat(spool, &st), 0);
	deliver(sink, 5);
	UNTIL(sink, server.taken == 10);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(stat(spool, &now), 0);
	assert_memory_equal(&st.st_mtim, &now.st_mtim, sizeof(now.st_mtim));
	assert_string_equal(said, "");
}

/* Two series a window, with the labels of the time when they were recorded. */
static void test_sink_spool__what_is_left_is_sent_by_the_next_sink_first(void **state)
{
	struct sink *sink = sink_of("job-a");
	char line[192];

	(void)state;
	deliver(sink, 3);
	UNTIL(sink, in_spool() == 3);
	deliver(sink, 1);
	UNTIL(sink, in_spool() == 4);
	sink_end(sink, NULL, 0);
	while (!sink_poll(sink))
		pause_ms(2);
	assert_int_equal(sink_finish(sink), 0);
	assert_int_equal(sink_counts(sink).not_pushed, 0);
	assert_int_equal(sink_counts(sink).spooled, 4);
	assert_false(sink_counts(sink).pushing_fails);
	sink_free(sink);
	forget_requests();
	snprintf(line, sizeof(line), "4 windows are kept in %s and sent at the next start: push to", spool);
	assert_true(was_said(line));
	assert_int_equal(lines(), 2);
	assert_int_equal(in_spool(), 4);

	server.status = 200;
	sink = sink_of("job-b");
	deliver(sink, 2);
	UNTIL(sink, server.taken == 12);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_string_equal(server.jobs, "aaaaaaaabbbb");
	assert_int_equal(in_spool(), 0);
}

/* The server takes three series of six and fails; the other three come later. */
static void test_sink_spool__no_series_is_sent_twice(void **state)
{
	struct sink *sink;

	(void)state;
	leave("job-a", 3);
	server.status = 200;
	server.refuse_from = 3;
	sink = sink_of("job-b");
	UNTIL(sink, server.taken == 3 && was_said("503"));
	assert_int_equal(end(sink, 0), 0);
	assert_true(was_said("2 windows are kept"));
	assert_int_equal(in_spool(), 2);
	server.refuse_from = 1000000;
	sink = sink_of("job-c");
	UNTIL(sink, in_spool() == 0);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(server.taken, 6);
}

/* The first had sent all of a request when it was stopped, so the next one asks first. */
static void test_sink_spool__a_request_without_an_answer_is_remembered(void **state)
{
	struct sink *sink = sink_of("job-a");

	(void)state;
	server.status = 200;
	server.hangs = 1;
	deliver(sink, 2);
	pause_ms(300);
	assert_int_equal(end(sink, SECOND / 10), 0);
	assert_int_equal(in_spool(), 2);
	assert_true(was_said("2 windows are kept"));
	assert_true(was_said("the server has not answered in time"));
	server.hangs = 0;
	while (server.taken < 1)
		pause_ms(2);
	server.requests = server.taken = 0;
	sink = sink_of("job-b");
	UNTIL(sink, in_spool() == 0);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(server.taken, 4);
	assert_int_equal(server.requests, 5);
}

static void test_sink_spool__what_is_refused_for_good_is_removed(void **state)
{
	struct sink *sink;

	(void)state;
	leave("job-a", 3);
	server.status = 422;
	sink = sink_of("job-b");
	UNTIL(sink, in_spool() == 0);
	UNTIL(sink, sink_counts(sink).not_pushed == 3);
	assert_int_equal(end(sink, 10 * SECOND), -EIO);
	assert_int_equal(server.taken, 0);
	assert_true(was_said("422"));
	assert_int_equal(lines(), 1);
}

/* A token expires, or the URL leads elsewhere: nothing is lost until that is put right. */
static void test_sink_spool__what_settings_are_wrong_for_waits(void **state)
{
	static const struct {
		unsigned int status;
		const char *told;
	} rows[] = { { 401, "401" }, { 404, "404" }, { 302, "302" } };

	(void)state;
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sink *sink = sink_of("job-a");

		server.status = rows[i].status;
		deliver(sink, 2);
		UNTIL(sink, in_spool() == 2 && was_said(rows[i].told));
		assert_true(was_said("windows wait, and are sent again"));
		assert_int_equal(end(sink, 0), 0);
		server.status = 200;
		sink = sink_of("job-b");
		UNTIL(sink, in_spool() == 0);
		assert_int_equal(end(sink, 10 * SECOND), 0);
		assert_int_equal(server.taken, 4 * (i + 1));
	}
}

static void test_sink_spool__a_reload_hands_over(void **state)
{
	struct sink *sink = sink_of("job-a"), *newer;

	(void)state;
	deliver(sink, 2);
	UNTIL(sink, in_spool() == 2);
	for (const char *job = "bc"; *job; job++) {
		char label[] = "job-?";

		label[4] = *job;
		newer = sink_with(label, "");
		deliver(sink, 1); /* the last of the old one, which is still being packed */
		sink_take_over(newer, sink);
		sink = newer;
		UNTIL(sink, sink_waiting(sink) == (*job == 'b' ? 3 : 5));
		deliver(sink, 1);
		UNTIL(sink, in_spool() == (*job == 'b' ? 4 : 6));
	}
	assert_false(was_said("another stallprof"));
	server.status = 200;
	UNTIL(sink, server.taken == 12);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_string_equal(server.jobs, "aaaaaabbbbcc");
	assert_int_equal(in_spool(), 0);
}

/* SIGTERM right after SIGHUP. */
static void test_sink_spool__an_end_during_a_reload_keeps_all(void **state)
{
	struct sink *sink = sink_of("job-a"), *newer = sink_with("job-b", "");

	(void)state;
	server.status = 200;
	server.hangs = 1;
	deliver(sink, 3);
	pause_ms(100);
	sink_take_over(newer, sink);
	deliver(newer, 1);
	assert_int_equal(end(newer, SECOND / 5), 0);
	assert_int_equal(in_spool(), 4);
	assert_true(was_said("3 windows are kept") && was_said("1 window is kept"));
}

static void test_sink_spool__another_process_is_noticed(void **state)
{
	struct sink *sink = sink_of("job-a"), *other = sink_of("job-b");

	(void)state;
	sink_poll(other);
	assert_true(was_said("push.spool: another stallprof has "));
	assert_true(was_said(spool));
	assert_int_equal(lines(), 1);
	deliver(other, 2);
	UNTIL(other, lines() == 2);
	assert_int_equal(end(other, 0), -EIO);
	assert_true(was_said("2 windows were not pushed"));
	assert_int_equal(in_spool(), 0);
	assert_int_equal(end(sink, 0), 0);
}

static void test_sink_spool__damaged_windows_are_told_and_the_rest_is_sent(void **state)
{
	char path[160];
	struct sink *sink;

	(void)state;
	leave("job-a", 4);
	snprintf(path, sizeof(path), "%s/000000000002.window", spool);
	assert_int_equal(truncate(path, 100), 0);
	server.status = 200;
	sink = sink_of("job-b");
	UNTIL(sink, server.taken == 6 && sink_counts(sink).not_pushed);
	assert_int_equal(sink_counts(sink).not_pushed, 1);
	assert_int_equal(end(sink, 10 * SECOND), -EIO);
	assert_int_equal(lines(), 1);
	assert_true(was_said("window 2 is lost: it is cut short; its file is kept as "));
	assert_int_equal(in_spool(), 0);
	snprintf(path, sizeof(path), "%s/damaged", spool);
	assert_int_equal(access(path, F_OK), 0);
}

/* It is no window that is lost. */
static void test_sink_spool__a_folder_among_the_files_is_told_and_left(void **state)
{
	char path[128];
	struct sink *sink;

	(void)state;
	leave("job-a", 1);
	snprintf(path, sizeof(path), "%s/000000000002.window", spool);
	assert_int_equal(mkdir(path, 0700), 0);
	server.status = 200;
	sink = sink_of("job-b");
	UNTIL(sink, server.taken == 2 && !sink_waiting(sink));
	assert_int_equal(sink_counts(sink).not_pushed, 0);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(lines(), 1);
	assert_true(was_said(
	        "/spool: 000000000002.window is a folder, which stallprof has not made: it is left alone"));
	assert_int_equal(rmdir(path), 0);
}

/* A file takes its place. */
static void test_sink_spool__without_a_folder_windows_wait_in_memory(void **state)
{
	struct sink *sink = sink_of("job-a");
	char command[256];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s; touch %s", spool, spool);
	assert_int_equal(system(command), 0);
	deliver(sink, 3);
	UNTIL(sink, was_said("a window cannot be stored: Not a directory; it waits in memory"));
	UNTIL(sink, sink_waiting(sink) == 3);
	server.status = 200;
	UNTIL(sink, server.taken == 6);
	assert_true(sink_counts(sink).not_spooled >= 1);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(lines(), 2);
}

/* Of some 156 KiB, as random addresses can't be compressed: six are less than a MiB. */
static struct profile *large_profile(void)
{
	const int64_t values[] = { 3, 500, 70 };
	struct profile *p = window_profile();

	for (size_t i = 0; i < 6000; i++) {
		int64_t id = profile_location(p, 0, (uint64_t)random() << 30 | (uint64_t)random(), NULL, 0);

		assert_int_equal(profile_add_sample(p, &id, 1, values, NULL, 0), 0);
	}
	return p;
}

/* So many are in the spool, or counted as dropped: for a while, as one that goes is in neither before it is counted. */
static bool add_up(struct sink *sink, size_t n)
{
	for (int i = 0; i < 20; i++) {
		sink_poll(sink);
		if (in_spool() + sink_counts(sink).not_pushed != n)
			return false;
		pause_ms(1);
	}
	return true;
}

static void test_sink_spool__the_oldest_go_when_it_is_full(void **state)
{
	struct sink *sink;

	(void)state;
	leave("job-a", 1);
	sink = sink_with("job-b", "1048576");
	sink_begin(sink);
	for (unsigned int i = 0; i < 10; i++) {
		sink_deliver(sink, large_profile());
		UNTIL(sink, add_up(sink, 2 + i));
	}
	UNTIL(sink, in_spool() == 6 && sink_counts(sink).not_pushed == 5);
	assert_true(was_said("more windows wait for the server than there is room for (8640, 1 MiB, in "));
	assert_int_equal(end(sink, 0), -EIO);
	assert_int_equal(in_spool(), 6);
	server.status = 200;
	sink = sink_of("job-c");
	UNTIL(sink, in_spool() == 0);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_null(strchr(server.jobs, 'a'));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_sink_spool__##name, begin, end_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_server_that_takes_all_costs_no_write),
		TEST(what_is_left_is_sent_by_the_next_sink_first),
		TEST(no_series_is_sent_twice),
		TEST(a_request_without_an_answer_is_remembered),
		TEST(what_is_refused_for_good_is_removed),
		TEST(what_settings_are_wrong_for_waits),
		TEST(a_reload_hands_over),
		TEST(an_end_during_a_reload_keeps_all),
		TEST(another_process_is_noticed),
		TEST(damaged_windows_are_told_and_the_rest_is_sent),
		TEST(a_folder_among_the_files_is_told_and_left),
		TEST(without_a_folder_windows_wait_in_memory),
		TEST(the_oldest_go_when_it_is_full),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
