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

/* A sender without a spool, and a window for it. */
struct sending {
	struct push_window *window;
	struct config *config;
	struct sink_news *news;
	struct sink_spool *none;
	struct window_sender *sender;
};

static struct sending begin_to_send(const char *const *bodies, size_t n)
{
	struct sending s = { .window = spool_window("job-a", bodies, n),
		             .config = config_default(),
		             .news = sink_news_new() };
	char err[1024] = "";

	s.none = sink_spool_new("", s.news);
	set(s.config, "push.url", server.url);
	set(s.config, "push.bearer_token_file", token_file);
	s.sender = window_sender_new(&s.config->push, s.none, s.news, err, sizeof(err));
	assert_non_null(s.sender);
	return s;
}

static void send_again_and_again(struct sending *s, int times, enum window_sent expected)
{
	for (; times; times--)
		assert_int_equal(window_sender_send(s->sender, s->window, WINDOW_FIRST), expected);
}

/* All that was said so far is in `said` then. */
static void take_news(struct sending *s)
{
	struct sink_news_now now;

	sink_news_take(s->news, take_line, &now);
}

static void end_sending(struct sending *s)
{
	window_sender_free(s->sender);
	push_window_free(s->window);
	sink_spool_free(s->none);
	sink_news_free(s->news);
	config_free(s->config);
}

/* The first part of three of one series was sent twice without an answer. */
static void test_window_sender__one_part_without_an_answer_is_given_up_alone(void **state)
{
	static const char *const bodies[] = { "one", "two", "three" };
	struct sending s = begin_to_send(bodies, 3);

	(void)state;
	for (size_t i = 1; i < 3; i++)
		s.window->request[i].series = s.window->request[0].series;
	server.status = 200;
	s.window->unanswered = 2;
	send_again_and_again(&s, 1, WINDOW_DONE);
	assert_true(s.window->failed);
	assert_int_equal(server.taken, 2);
	take_news(&s);
	assert_true(was_said("sent twice without an answer that says whether it was taken"));
	assert_int_equal(lines(), 1);
	end_sending(&s);
}

/* A server that does not answer, and then wants another token: that does not pass by itself, and is said, too. */
static void test_window_sender__says_what_an_outage_turns_out_to_be(void **state)
{
	static const char *const bodies[] = { "one" };
	struct sending s = begin_to_send(bodies, 1);

	(void)state;
	server.status = 429;
	send_again_and_again(&s, 2, WINDOW_LATER);
	take_news(&s);
	assert_int_equal(lines(), 1);
	server.status = 200;
	server.token = "Bearer new";
	send_again_and_again(&s, 2, WINDOW_LATER);
	server.status = 429;
	send_again_and_again(&s, 1, WINDOW_LATER);
	take_news(&s);
	assert_true(was_said("401"));
	assert_int_equal(lines(), 2);
	end_sending(&s);
}

/* With the time of each in it, for instance, as where windows are too old. */
static void test_window_sender__says_once_what_differs_in_numbers_alone(void **state)
{
	static const char *const bodies[] = { "one" };
	struct sending s = begin_to_send(bodies, 1);

	(void)state;
	server.status = 400;
	send_again_and_again(&s, 1, WINDOW_DONE);
	take_news(&s);
	assert_true(was_said("request 1 is refused"));
	push_window_free(s.window);
	s.window = spool_window("job-a", bodies, 1);
	send_again_and_again(&s, 1, WINDOW_DONE);
	take_news(&s);
	assert_int_equal(server.requests, 2);
	assert_int_equal(lines(), 1);
	end_sending(&s);
}

/* What a server stores though a proxy in front of it gave up waiting, it stores twice at most. */
static void stored_twice_at_most(unsigned int status)
{
	static const char *const bodies[] = { "one" };
	struct sending s = begin_to_send(bodies, 1);
	char words[16];

	server.status = 200;
	server.stored_as = status;
	send_again_and_again(&s, 1, WINDOW_LATER);
	assert_int_equal(server.requests, 1);
	send_again_and_again(&s, 1, WINDOW_LATER);
	send_again_and_again(&s, 1, WINDOW_DONE);
	assert_int_equal(server.requests, 3); /* it was asked before */
	assert_int_equal(server.taken, 2);
	assert_true(s.window->failed);
	take_news(&s);
	snprintf(words, sizeof(words), "HTTP %u", status);
	assert_true(was_said(words));
	end_sending(&s);
}

static void test_window_sender__what_was_stored_and_timed_out_is_sent_once_more(void **state)
{
	(void)state;
	stored_twice_at_most(504);
}

static void test_window_sender__so_for_408(void **state)
{
	(void)state;
	stored_twice_at_most(408);
}

/* A proxy whose server is gone answers so, too: the window is sent when that is back, and is not lost. */
static void test_window_sender__an_outage_of_504_loses_nothing(void **state)
{
	static const char *const bodies[] = { "one" };
	struct sending s = begin_to_send(bodies, 1);

	(void)state;
	server.status = 504;
	send_again_and_again(&s, 20, WINDOW_LATER);
	assert_int_equal(s.window->unanswered, 1); /* it was only asked since */
	server.status = 200;
	send_again_and_again(&s, 1, WINDOW_DONE);
	assert_false(s.window->failed);
	assert_int_equal(server.taken, 1);
	end_sending(&s);
}

/* A window of three, of which the server refuses the first with 429 and these words. */
static struct sending limited(const char *words)
{
	static const char *const bodies[] = { "one", "two", "three" };

	server.status = 200;
	server.poison = 1000;
	server.poison_as = 429;
	server.words = words;
	return begin_to_send(bodies, 3);
}

/* As Pyroscope's ingester has them. What the request has of known series it has stored by then. */
static void test_window_sender__a_limit_on_series_holds_up_nothing(void **state)
{
	struct sending s =
	        limited("{\"code\":\"resource_exhausted\",\"message\":\"Maximum active series limit "
	                "exceeded (5001/5000), reduce the number of active streams\"}");

	(void)state;
	s.window->request[1].series = s.window->request[0].series;
	send_again_and_again(&s, 1, WINDOW_DONE);
	assert_true(s.window->failed);
	assert_int_equal(server.poisoned, 1);
	assert_int_equal(server.taken, 2);
	take_news(&s);
	assert_true(was_said("429: Maximum active series limit exceeded (5001/5000)"));
	assert_int_equal(lines(), 1);
	end_sending(&s);
}

static void test_window_sender__a_limit_on_bytes_loses_nothing(void **state)
{
	struct sending s = limited("{\"code\":\"resource_exhausted\",\"message\":\"push rate limit (4.0 MiB) "
	                           "exceeded while adding 5.0 MiB\"}");

	(void)state;
	send_again_and_again(&s, 50, WINDOW_LATER);
	assert_int_equal(server.taken, 0);
	server.poison = 0;
	send_again_and_again(&s, 1, WINDOW_DONE);
	assert_false(s.window->failed);
	assert_int_equal(server.taken, 3);
	end_sending(&s);
}

static void write_token(const char *token)
{
	FILE *file;

	snprintf(token_file, sizeof(token_file), "%s/token", folder);
	file = fopen(token_file, "we");
	assert_non_null(file);
	fprintf(file, "%s\n", token);
	assert_int_equal(fclose(file), 0);
}

static unsigned int requests_since(unsigned int *before)
{
	unsigned int n = server.requests - *before;

	*before = server.requests;
	return n;
}

/* Kubernetes and Vault replace it, and nobody reloads the agent then. */
static void test_window_sender__a_new_token_needs_no_reload(void **state)
{
	static const char *const bodies[] = { "one" };
	struct sending s;
	unsigned int before = 0;

	(void)state;
	write_token("s3cret-old");
	s = begin_to_send(bodies, 1);
	server.status = 200;
	server.token = "Bearer s3cret-new";
	send_again_and_again(&s, 2, WINDOW_LATER);
	assert_int_equal(requests_since(&before), 2); /* the same token is not sent twice */
	write_token("s3cret-half");
	send_again_and_again(&s, 1, WINDOW_LATER);
	assert_int_equal(requests_since(&before), 2);
	assert_int_equal(unlink(token_file), 0);
	send_again_and_again(&s, 1, WINDOW_LATER);
	assert_int_equal(requests_since(&before), 1);
	write_token("s3cret-new");
	send_again_and_again(&s, 1, WINDOW_DONE);
	assert_false(s.window->failed);
	assert_int_equal(requests_since(&before), 2);
	take_news(&s);
	assert_true(was_said("401"));
	assert_false(was_said("s3cret"));
	end_sending(&s);
}

/* So that it goes where the server's name leads by then, and not over a connection that is just ending. */
static void test_window_sender__each_window_has_a_connection_of_its_own(void **state)
{
	static const char *const bodies[] = { "one", "two", "three" };
	struct sending s = begin_to_send(bodies, 3);

	(void)state;
	server.status = 200;
	send_again_and_again(&s, 1, WINDOW_DONE);
	assert_int_equal(server.taken, 3);
	assert_int_equal(server.connections, 1);
	push_window_free(s.window);
	s.window = spool_window("job-a", bodies, 3);
	send_again_and_again(&s, 1, WINDOW_DONE);
	assert_int_equal(server.taken, 6);
	assert_int_equal(server.connections, 2);
	pause_ms(200);
	assert_int_equal(
	        MHD_get_daemon_info(server.daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections, 1);
	end_sending(&s);
}

/* A sign-in page, which repeats the token. */
static void test_window_sender__waits_while_something_else_answers(void **state)
{
	static const char *const bodies[] = { "one" };
	struct sending s;

	(void)state;
	write_token("s3cret");
	s = begin_to_send(bodies, 1);
	server.status = 200;
	server.type = "text/s3cret";
	send_again_and_again(&s, 10, WINDOW_LATER);
	take_news(&s);
	assert_true(
	        was_said("something other than Pyroscope answered: HTTP 200 (text/******): check push.url"));
	assert_int_equal(lines(), 1);
	server.type = "application/proto";
	send_again_and_again(&s, 1, WINDOW_DONE);
	assert_false(s.window->failed);
	end_sending(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		        test_window_sender__one_part_without_an_answer_is_given_up_alone, begin, end_all),
		cmocka_unit_test_setup_teardown(test_window_sender__says_once_what_differs_in_numbers_alone,
		                                begin, end_all),
		cmocka_unit_test_setup_teardown(test_window_sender__says_what_an_outage_turns_out_to_be,
		                                begin, end_all),
		cmocka_unit_test_setup_teardown(
		        test_window_sender__what_was_stored_and_timed_out_is_sent_once_more, begin, end_all),
		cmocka_unit_test_setup_teardown(test_window_sender__a_new_token_needs_no_reload, begin,
		                                end_all),
		cmocka_unit_test_setup_teardown(test_window_sender__each_window_has_a_connection_of_its_own,
		                                begin, end_all),
		cmocka_unit_test_setup_teardown(test_window_sender__waits_while_something_else_answers, begin,
		                                end_all),
		cmocka_unit_test_setup_teardown(test_window_sender__so_for_408, begin, end_all),
		cmocka_unit_test_setup_teardown(test_window_sender__a_limit_on_series_holds_up_nothing, begin,
		                                end_all),
		cmocka_unit_test_setup_teardown(test_window_sender__a_limit_on_bytes_loses_nothing, begin,
		                                end_all),
		cmocka_unit_test_setup_teardown(test_window_sender__an_outage_of_504_loses_nothing, begin,
		                                end_all),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
