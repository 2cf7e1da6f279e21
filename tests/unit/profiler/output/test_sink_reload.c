/* Tests of sink_take_over(): where windows that wait in memory go after a reload. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>

#include "tests/unit/profiler/output/spool_sinks.h"

static void write_token(const char *token)
{
	FILE *out;

	snprintf(token_file, sizeof(token_file), "%s/token", folder);
	out = fopen(token_file, "we");
	assert_non_null(out);
	fputs(token, out);
	fclose(out);
}

/* A sink without a spool, with two windows of job a that the server does not take now. */
static struct sink *sink_that_waits(void)
{
	struct sink *sink;

	spool[0] = '\0';
	sink = sink_of("job-a");
	deliver(sink, 2);
	UNTIL(sink, was_said("windows wait, and are sent again") && sink_waiting(sink) == 2);
	return sink;
}

static struct sink *taken_over(struct sink *older)
{
	struct sink *sink = sink_with("job-b", "");

	sink_take_over(sink, older);
	return sink;
}

static void test_sink_reload__a_token_put_right_sends_what_waits(void **state)
{
	struct sink *sink;

	(void)state;
	server.status = 200;
	server.token = "Bearer new";
	write_token("old");
	sink = sink_that_waits();
	assert_true(was_said("401"));
	write_token("new");
	sink = taken_over(sink);
	deliver(sink, 1);
	UNTIL(sink, server.taken == 6);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(sink_jobs('a'), 4);
}

/* The server is down at the reload, and would refuse the old token later. */
static void test_sink_reload__so_does_one_that_was_not_refused_yet(void **state)
{
	struct sink *sink;

	(void)state;
	server.token = "Bearer new";
	write_token("old");
	sink = sink_that_waits();
	write_token("new");
	sink = taken_over(sink);
	UNTIL(sink, sink_counts(sink).pushing_fails); /* the new one has tried them */
	server.status = 200;
	UNTIL(sink, server.taken == 4);
	assert_int_equal(end(sink, 10 * SECOND), 0);
}

static void test_sink_reload__a_url_put_right_sends_what_waits(void **state)
{
	char right[64];
	struct sink *sink;

	(void)state;
	snprintf(right, sizeof(right), "%.32s/right", server.url);
	memcpy(server.url + strlen(server.url), "/wrong", sizeof("/wrong"));
	server.status = 200;
	server.place = "/right/";
	sink = sink_that_waits();
	assert_true(was_said("404"));
	memcpy(server.url, right, sizeof(right));
	sink = taken_over(sink);
	UNTIL(sink, server.taken == 4);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_false(failed);
}

/* That one is down, and gets its windows when it is back. */
static void test_sink_reload__another_server_does_not_get_them(void **state)
{
	struct sink *sink = sink_that_waits();

	(void)state;
	memcpy(server.url + strlen(server.url), "/other", sizeof("/other"));
	server.status = 200;
	server.place = "/other/";
	sink = taken_over(sink);
	deliver(sink, 1);
	UNTIL(sink, server.taken == 2);
	assert_int_equal(end(sink, 0), -EIO);
	assert_true(failed); /* those two are lost */
	assert_string_equal(server.jobs, "bb");
}

/* The new one has a spool, in which something is. */
static void test_sink_reload__a_new_spool_is_opened(void **state)
{
	char kept[sizeof(spool)];
	struct sink *sink;

	(void)state;
	memcpy(kept, spool, sizeof(spool));
	leave("job-c", 1);
	server.status = 200;
	server.token = "Bearer new";
	write_token("old");
	sink = sink_that_waits();
	write_token("new");
	memcpy(spool, kept, sizeof(spool));
	sink = taken_over(sink);
	UNTIL(sink, server.taken == 6);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(sink_jobs('c'), 2);
	assert_int_equal(in_spool(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_sink_reload__##name, begin, end_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_token_put_right_sends_what_waits),
		TEST(so_does_one_that_was_not_refused_yet),
		TEST(a_url_put_right_sends_what_waits),
		TEST(another_server_does_not_get_them),
		TEST(a_new_spool_is_opened),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
