/* Tests of window_sender.h: what becomes of the other requests of a window when one is given up. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>

#include "profiler/output/push_window.h"
#include "profiler/output/sink_news.h"
#include "profiler/output/sink_spool.h"
#include "profiler/output/window_sender.h"
#include "tests/unit/profiler/output/spool_sinks.h"
#include "tests/unit/profiler/output/spool_window.h"

/* The first part of three of one series was sent twice without an answer. */
static void test_window_sender__one_part_without_an_answer_is_given_up_alone(void **state)
{
	static const char *const bodies[] = { "one", "two", "three" };
	struct push_window *window = spool_window("job-a", bodies, 3);
	struct config *config = config_default();
	struct sink_news *news = sink_news_new();
	struct sink_spool *none = sink_spool_new("", news);
	struct sink_news_now now;
	struct window_sender *sender;
	char err[1024] = "";

	(void)state;
	for (size_t i = 1; i < 3; i++)
		window->request[i].series = window->request[0].series;
	set(config, "push.url", server.url);
	sender = window_sender_new(&config->push, none, news, err, sizeof(err));
	assert_non_null(sender);
	server.status = 200;
	window->unanswered = 2;
	assert_int_equal(window_sender_send(sender, window, WINDOW_FIRST), WINDOW_DONE);
	assert_true(window->failed);
	assert_int_equal(server.taken, 2);
	sink_news_take(news, take_line, &now);
	assert_true(was_said("sent twice without an answer"));
	assert_int_equal(lines(), 1);
	window_sender_free(sender);
	push_window_free(window);
	sink_spool_free(none);
	sink_news_free(news);
	config_free(config);
}

/* A server that does not answer, and then wants another token: that does not pass by itself, and is said, too. */
static void test_window_sender__says_what_an_outage_turns_out_to_be(void **state)
{
	static const char *const bodies[] = { "one" };
	struct push_window *window = spool_window("job-a", bodies, 1);
	struct config *config = config_default();
	struct sink_news *news = sink_news_new();
	struct sink_spool *none = sink_spool_new("", news);
	struct sink_news_now now;
	struct window_sender *sender;
	char err[1024] = "";

	(void)state;
	set(config, "push.url", server.url);
	sender = window_sender_new(&config->push, none, news, err, sizeof(err));
	assert_non_null(sender);
	server.status = 429;
	for (int i = 0; i < 2; i++)
		assert_int_equal(window_sender_send(sender, window, WINDOW_FIRST), WINDOW_LATER);
	sink_news_take(news, take_line, &now);
	assert_int_equal(lines(), 1);
	server.status = 200;
	server.token = "Bearer new";
	for (int i = 0; i < 2; i++)
		assert_int_equal(window_sender_send(sender, window, WINDOW_FIRST), WINDOW_LATER);
	server.status = 429;
	assert_int_equal(window_sender_send(sender, window, WINDOW_FIRST), WINDOW_LATER);
	sink_news_take(news, take_line, &now);
	assert_true(was_said("401"));
	assert_int_equal(lines(), 2);
	window_sender_free(sender);
	push_window_free(window);
	sink_spool_free(none);
	sink_news_free(news);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		        test_window_sender__one_part_without_an_answer_is_given_up_alone, begin, end_all),
		cmocka_unit_test_setup_teardown(test_window_sender__says_what_an_outage_turns_out_to_be,
		                                begin, end_all),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
