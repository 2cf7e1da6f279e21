/* Tests of sink.h and sink_spool.h with a spool that fails, that another has, or that is handed on twice. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/resource.h>

#include "profiler/output/push_window.h"
#include "profiler/output/sink_news.h"
#include "profiler/output/sink_spool.h"
#include "profiler/output/spool.h"
#include "tests/unit/profiler/output/spool_sinks.h"
#include "tests/unit/profiler/output/spool_window.h"

static const char *const bodies[] = { "one", "two" };

/* Keeps the old limit for the next call, which is to be with NULL. */
static void limit(int what, const rlim_t *max)
{
	static struct rlimit before;
	struct rlimit now;

	if (!max) {
		assert_int_equal(setrlimit(what, &before), 0);
		return;
	}
	assert_int_equal(getrlimit(what, &before), 0);
	now = before;
	now.rlim_cur = *max;
	assert_int_equal(setrlimit(what, &now), 0);
}

static void take_news(struct sink_news *news, struct sink_news_now *now)
{
	sink_news_take(news, take_line, now);
}

/* --- sinks -------------------------------------------------------------------------------------------------- */

/* The one in the midst has nothing to send, and ends before the first. */
static void test_sink_spool__a_second_reload_hands_over_to_the_newest(void **state)
{
	struct sink *first = sink_of("job-a"), *second = sink_with("job-b", ""), *third;

	(void)state;
	deliver(first, 2);
	UNTIL(first, in_spool() == 2);
	server.status = 200;
	server.hangs = 1;
	while (server.waits < 1)
		pause_ms(2);
	sink_take_over(second, first);
	third = sink_with("job-c", "");
	sink_take_over(third, second);
	for (int i = 0; i < 20; i++) {
		sink_poll(third);
		pause_ms(5);
	}
	deliver(third, 1);
	/* The last try of the first takes 5 s. */
	UNTIL(third, sink_waiting(third) == 3);
	server.hangs = 0;
	UNTIL(third, in_spool() == 0);
	assert_int_equal(end(third, 10 * SECOND), 0);
	assert_int_equal(sink_jobs('a') + sink_jobs('c'), server.taken);
	assert_in_range(sink_jobs('a'), 4, 5);
	assert_int_equal(sink_jobs('c'), 2);
}

/* The spelling alone is changed. */
static void test_sink_spool__a_reload_knows_the_folder_by_another_name(void **state)
{
	struct sink *sink = sink_of("job-a"), *newer;

	(void)state;
	deliver(sink, 2);
	UNTIL(sink, in_spool() == 2);
	snprintf(spool, sizeof(spool), "%s/./spool/", folder);
	newer = sink_with("job-b", "");
	sink_take_over(newer, sink);
	UNTIL(newer, sink_waiting(newer) == 2);
	server.status = 200;
	UNTIL(newer, in_spool() == 0);
	assert_int_equal(end(newer, 10 * SECOND), 0);
	assert_false(was_said("another stallprof"));
	assert_string_equal(server.jobs, "aaaa");
}

/* As on a disk that has become read-only. */
static void test_sink_spool__what_cannot_be_noted_is_not_sent_again(void **state)
{
	const rlim_t small = 20;
	struct sink *sink;

	(void)state;
	leave("job-a", 1);
	server.status = 200;
	server.refuse_from = 1;
	limit(RLIMIT_FSIZE, &small);
	sink = sink_of("job-b");
	UNTIL(sink, server.taken == 1 && server.requests > 3);
	server.refuse_from = 1000;
	UNTIL(sink, in_spool() == 0);
	limit(RLIMIT_FSIZE, NULL);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(server.taken, 2);
	assert_true(was_said("how much of a window was sent cannot be written: File too large"));
	assert_int_equal(lines(), 2);
}

/* Whoever sent it had no answer, and neither had the one before. */
static void test_sink_spool__a_request_is_not_sent_a_third_time(void **state)
{
	struct push_window *window = spool_window("job-a", bodies, 2);
	struct spool *put;
	struct sink *sink;

	(void)state;
	assert_non_null(window);
	window->unanswered = 2;
	assert_int_equal(spool_open(spool, &put), 0);
	assert_int_equal(spool_store(put, window), 0);
	push_window_free(window);
	spool_close(put);
	server.status = 200;
	sink = sink_of("job-b");
	UNTIL(sink, in_spool() == 0 && sink_counts(sink).not_pushed);
	assert_int_equal(server.requests, 1);
	assert_int_equal(server.taken, 1);
	assert_true(was_said("a window was sent twice without an answer that says whether it was taken, and "
	                     "is not sent again"));
	assert_int_equal(end(sink, 10 * SECOND), -EIO);
}

/* --- the folder --------------------------------------------------------------------------------------------- */

static void count_found(void *ctx, struct push_window *window)
{
	++*(size_t *)ctx;
	push_window_free(window);
}

/* A new agent begins before the old one has ended. */
static void test_sink_spool__a_folder_is_tried_again_until_it_is_free(void **state)
{
	struct sink_news *news = sink_news_new();
	struct sink_spool *s = sink_spool_new(spool, news);
	struct push_window *window = spool_window("job-a", bodies, 2);
	struct sink_news_now now;
	struct spool *other;
	size_t found = 0;

	(void)state;
	assert_true(news && s && window);
	assert_int_equal(spool_open(spool, &other), 0);
	assert_int_equal(spool_store(other, window), 0);
	push_window_free(window);
	sink_spool_retry(s, SECOND, count_found, &found); /* not before it is opened */
	sink_spool_open(s, SECOND, count_found, &found);
	sink_spool_retry(s, SECOND + SINK_SPOOL_RETRY_NS, count_found, &found);
	take_news(news, &now);
	assert_true(was_said("another stallprof has") && lines() == 1);
	spool_close(other);
	sink_spool_retry(s, 2 * SINK_SPOOL_RETRY_NS, count_found, &found);
	assert_false(sink_spool_is_open(s));
	sink_spool_retry(s, SECOND + 2 * SINK_SPOOL_RETRY_NS, count_found, &found);
	assert_true(sink_spool_is_open(s));
	assert_int_equal(found, 1);
	take_news(news, &now);
	assert_true(was_said("can be used now; windows found there, which are sent: 1"));
	assert_int_equal(lines(), 2);
	sink_spool_free(s);
	sink_news_free(news);
}

static void test_sink_spool__who_retires_leaves_the_folder_to_others(void **state)
{
	struct sink_news *news = sink_news_new();
	struct sink_spool *s = sink_spool_new(spool, news);
	struct spool *other;
	size_t found = 0;

	(void)state;
	assert_int_equal(spool_open(spool, &other), 0);
	sink_spool_open(s, SECOND, count_found, &found);
	spool_close(other);
	sink_spool_retire(s);
	sink_spool_retry(s, 10 * SINK_SPOOL_RETRY_NS, count_found, &found);
	assert_false(sink_spool_is_open(s));
	sink_spool_free(s);
	sink_news_free(news);
}

/* A process that has too many files open has fewer later. */
static void test_sink_spool__what_cannot_be_read_now_is_read_later(void **state)
{
	struct sink_news *news = sink_news_new();
	struct sink_spool *s = sink_spool_new(spool, news);
	struct push_window *window = spool_window("job-a", bodies, 2);
	struct sink_news_now now;
	const rlim_t none = 0;
	size_t found = 0;
	int err = -EAGAIN, tries;

	(void)state;
	sink_spool_open(s, SECOND, count_found, &found);
	assert_int_equal(sink_spool_store(s, window), 0);
	limit(RLIMIT_NOFILE, &none);
	for (tries = 0; tries < 5; tries++)
		assert_int_equal(sink_spool_load(s, window), -EAGAIN);
	limit(RLIMIT_NOFILE, NULL);
	assert_int_equal(sink_spool_load(s, window), 0);
	assert_int_equal(window->n, 2);
	push_window_unload(window);
	limit(RLIMIT_NOFILE, &none);
	for (tries = 0; tries < 100 && err == -EAGAIN; tries++)
		err = sink_spool_load(s, window);
	assert_int_equal(err, -EIO);
	assert_in_range(tries, 6, 20);
	assert_int_equal(sink_spool_load(s, window), -EIO);
	limit(RLIMIT_NOFILE, NULL);
	assert_int_equal(in_spool(), 1);
	take_news(news, &now);
	assert_int_equal(lines(), 3);
	assert_true(was_said("cannot be read now") && was_said("stays there for the next start"));
	push_window_free(window);
	sink_spool_free(s);
	sink_news_free(news);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_sink_spool__##name, begin, end_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_second_reload_hands_over_to_the_newest),
		TEST(a_reload_knows_the_folder_by_another_name),
		TEST(what_cannot_be_noted_is_not_sent_again),
		TEST(a_request_is_not_sent_a_third_time),
		TEST(a_folder_is_tried_again_until_it_is_free),
		TEST(who_retires_leaves_the_folder_to_others),
		TEST(what_cannot_be_read_now_is_read_later),
	};

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
