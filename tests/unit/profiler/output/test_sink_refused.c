/* Tests of sink.h: one window that the server answers with 5xx each time, and a server that answers all so. Time runs faster here. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/unit/profiler/output/spool_sinks.h"

/* --- time ------------------------------------------------------------------------------------------------- */

#define FASTER 30

static uint64_t origin_ns;

static uint64_t ns_of(const struct timespec *at)
{
	return (uint64_t)at->tv_sec * SECOND + (uint64_t)at->tv_nsec;
}

static struct timespec at_ns(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND) };
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	if (!result && clock == CLOCK_MONOTONIC && origin_ns)
		*now = at_ns(origin_ns + FASTER * (ns_of(now) - origin_ns));
	return result;
}

/* Of the outbox alone, which waits by CLOCK_MONOTONIC. */
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
	const struct timespec real = at_ns(origin_ns + (ns_of(until) - origin_ns) / FASTER);

	return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &real);
}

/* --- tests ------------------------------------------------------------------------------------------------ */

static bool exists(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", spool, name);
	return !access(path, F_OK);
}

/* A window of job a, which the server fails at until it has taken so many requests of others, and two of job b behind it. */
static struct sink *sink_with_poison(unsigned int poison)
{
	struct sink *sink;

	leave("job-a", 1);
	server.poison = poison;
	server.status = 200;
	sink = sink_of("job-b");
	deliver(sink, 2);
	return sink;
}

static void test_sink_refused__one_window_is_set_aside(void **state)
{
	struct sink *sink = sink_with_poison(1000);

	(void)state;
	UNTIL(sink, sink_counts(sink).set_aside == 1 && in_spool() == 0);
	assert_true(server.poisoned >= 6);
	assert_int_equal(end(sink, 1000 * SECOND), -EIO);
	assert_string_equal(server.jobs, "bbbb");
	assert_true(was_said("a window is set aside, as the server fails at it each time but took one behind "
	                     "it: push to http://127.0.0.1:"));
	assert_true(
	        was_said("/spool/refused until the next such window: rename that to 000000000001.window"));
	assert_int_equal(lines(), 2); /* the outage */
	assert_true(exists("refused"));
}

static void test_sink_refused__what_was_set_aside_can_be_sent_later(void **state)
{
	struct sink *sink = sink_with_poison(1000);
	char from[128], to[128];

	(void)state;
	UNTIL(sink, sink_counts(sink).set_aside == 1 && in_spool() == 0);
	assert_int_equal(sink_counts(sink).not_pushed, 1);
	end(sink, 1000 * SECOND);
	snprintf(from, sizeof(from), "%s/refused", spool);
	snprintf(to, sizeof(to), "%s/000000000001.window", spool);
	assert_int_equal(rename(from, to), 0);
	server.poison = 0;
	sink = sink_of("job-c");
	UNTIL(sink, in_spool() == 0);
	assert_int_equal(end(sink, 1000 * SECOND), 0);
	assert_string_equal(server.jobs, "bbbbaa");
}

/* It came back just when the next one was tried. */
static void test_sink_refused__one_that_is_taken_after_all_is_not_set_aside(void **state)
{
	struct sink *sink = sink_with_poison(2);

	(void)state;
	UNTIL(sink, in_spool() == 0 && server.taken == 6);
	assert_int_equal(sink_counts(sink).set_aside + sink_counts(sink).not_pushed, 0);
	assert_int_equal(end(sink, 1000 * SECOND), 0);
	assert_string_equal(server.jobs, "bbaabb");
	assert_int_equal(lines(), 1);
}

static void test_sink_refused__without_a_spool_it_is_dropped(void **state)
{
	struct sink *sink;

	(void)state;
	server.poison = 1000;
	server.status = 200;
	spool[0] = '\0';
	sink = sink_of("job-a");
	deliver(sink, 3);
	UNTIL(sink, sink_counts(sink).not_pushed == 1 && server.taken == 4); /* the last that is counted */
	assert_int_equal(sink_counts(sink).set_aside, 1);
	assert_int_equal(end(sink, 1000 * SECOND), -EIO);
	assert_true(was_said("; it is dropped; the server's log may say why"));
}

/* All are refused, the next one, too; the oldest comes first when the server is back. */
static void test_sink_refused__a_server_that_is_down_loses_none(void **state)
{
	struct sink *sink;

	(void)state;
	leave("job-a", 1);
	sink = sink_of("job-b");
	deliver(sink, 2);
	server.requests = 0;
	UNTIL(sink, server.requests >= 12);
	assert_int_equal(in_spool(), 3);
	assert_true(sink_counts_all(sink).pushing_fails);
	assert_int_equal(sink_counts_all(sink).waiting, 3);
	server.status = 200;
	UNTIL(sink, in_spool() == 0);
	UNTIL(sink, !sink_counts_all(sink).pushing_fails && !sink_counts_all(sink).waiting);
	assert_int_equal(sink_counts(sink).set_aside + sink_counts(sink).not_pushed, 0);
	assert_int_equal(end(sink, 1000 * SECOND), 0);
	/* It may have come back between the tries of the first and of the next one. */
	assert_true(!strcmp(server.jobs, "aabbbb") || !strcmp(server.jobs, "bbaabb"));
	assert_int_equal(lines(), 1);
}

/* It takes one series of the next window, and not the other: that is no window which it takes. */
static void test_sink_refused__a_server_that_takes_a_part_is_down(void **state)
{
	struct sink *sink = sink_with_poison(1000);

	(void)state;
	server.refuse_from = 1;
	UNTIL(sink, server.taken == 1 && server.requests >= 12);
	assert_int_equal(sink_counts(sink).set_aside, 0);
	assert_int_equal(in_spool(), 3);
	server.refuse_from = 1000;
	server.poison = 0;
	UNTIL(sink, in_spool() == 0);
	assert_int_equal(end(sink, 1000 * SECOND), 0);
	/* Nothing twice. In which order depends on which window is tried just then. */
	assert_int_equal(sink_jobs('a'), 2);
	assert_int_equal(sink_jobs('b'), 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_sink_refused__##name, begin, end_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_window_is_set_aside),
		TEST(what_was_set_aside_can_be_sent_later),
		TEST(one_that_is_taken_after_all_is_not_set_aside),
		TEST(without_a_spool_it_is_dropped),
		TEST(a_server_that_is_down_loses_none),
		TEST(a_server_that_takes_a_part_is_down),
	};
	struct timespec now;

	signal(SIGPIPE, SIG_IGN);
	clock_gettime(CLOCK_MONOTONIC, &now);
	origin_ns = ns_of(&now);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
