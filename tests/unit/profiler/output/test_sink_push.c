/* Tests of sink_push.h and push_window.h: what waits for a server, and what is dropped. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pprof/profile.h"
#include "symbolizer/base/clock.h"
#include "profiler/config/config.h"
#include "profiler/output/push_window.h"
#include "profiler/output/series.h"
#include "profiler/output/series_labels.h"
#include "profiler/output/sink_news.h"
#include "profiler/output/sink_push.h"

#define ROOM   (1 << 20)
#define SECOND 1000000000ULL

static char said[8192];

static void take_line(const char *line)
{
	size_t used = strlen(said);

	snprintf(said + used, sizeof(said) - used, "%s\n", line);
}

static unsigned int lines(void)
{
	unsigned int n = 0;

	for (const char *at = said; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

static struct profile *window_profile(size_t n_stacks)
{
	const struct profile_value_type types[] = { { "contentions", "count" },
		                                    { "delay", "nanoseconds" },
		                                    { "cpu", "nanoseconds" } };
	const int64_t values[] = { 3, 500, 70 };
	struct profile *p = profile_new(types, 3, types[0], 1, (size_t)64 << 20);

	assert_non_null(p);
	for (size_t i = 1; i <= n_stacks; i++) {
		int64_t id = profile_location(p, 0, i, NULL, 0);

		assert_int_equal(profile_add_sample(p, &id, 1, values, NULL, 0), 0);
	}
	return p;
}

/* Nobody listens at port 1. */
static struct sink_push *push_to_nobody(struct sink_news *news)
{
	struct config *config = config_default();
	struct sink_push *push;
	char err[1024] = "";

	assert_non_null(config);
	assert_int_equal(config_set(config, "push.url", "http://127.0.0.1:1", err, sizeof(err)), 0);
	push = sink_push_new(config, news, err, sizeof(err));
	if (!push)
		fail_msg("%s", err);
	config_free(config);
	said[0] = '\0';
	return push;
}

static struct sink_news_now wait_for_end(struct sink_push *push, struct sink_news *news)
{
	const struct timespec step = { .tv_nsec = 2000000 };
	struct sink_news_now now;

	for (int i = 0; i < 10000 && !sink_push_has_ended(push); i++)
		nanosleep(&step, NULL);
	assert_true(sink_push_has_ended(push));
	sink_push_free(push);
	sink_news_take(news, take_line, &now);
	return now;
}

static void test_sink_push__the_newest_windows_wait_and_the_rest_is_told(void **state)
{
	struct sink_news *news = sink_news_new();
	struct sink_push *push = push_to_nobody(news);
	struct profile *window = window_profile(1);
	struct sink_news_now now;

	(void)state;
	for (int i = 0; i < SINK_PUSH_WINDOWS + 20; i++)
		sink_push_put(push, window, false);
	assert_int_equal(sink_push_count(push), SINK_PUSH_WINDOWS);
	sink_news_take(news, take_line, &now);
	assert_int_equal(now.counts.not_pushed, 20);
	assert_non_null(
	        strstr(said, "more windows wait for the server than there is room for (360, 64 MiB)"));
	sink_push_put(push, NULL, true);
	now = wait_for_end(push, news);
	assert_int_equal(now.counts.not_pushed, SINK_PUSH_WINDOWS + 20);
	assert_non_null(strstr(said, "360 windows were not pushed: push to http://127.0.0.1:1/"));
	assert_in_range(lines(), 2, 3); /* the outage as well, if that was seen before the end */
	profile_free(window);
	sink_news_free(news);
}

/* The end does not wait for the delay after which the server would be tried again. */
static void test_sink_push__the_end_is_at_once(void **state)
{
	struct sink_news *news = sink_news_new();
	struct sink_push *push = push_to_nobody(news);
	struct profile *window = window_profile(1);
	uint64_t began = monotonic_ns();

	(void)state;
	for (int i = 0; i < 6; i++)
		sink_push_put(push, window, i == 5);
	assert_int_equal(wait_for_end(push, news).counts.not_pushed, 6);
	assert_true(monotonic_ns() - began < 5 * SECOND);
	profile_free(window);
	sink_news_free(news);
}

static void test_sink_push__an_end_without_windows_says_nothing(void **state)
{
	struct sink_news *news = sink_news_new();
	struct sink_push *push = push_to_nobody(news);

	(void)state;
	sink_push_put(push, NULL, true);
	assert_int_equal(wait_for_end(push, news).counts.not_pushed, 0);
	assert_string_equal(said, "");
	sink_news_free(news);
}

static void test_push_window__is_small_and_cut_by_series(void **state)
{
	struct profile *profile = window_profile(40000);
	char err[256] = "";
	struct series_labels *labels = series_labels_new(&(struct push_label){ "job", "a" }, 1);
	struct push_window *window = push_window_new(profile, labels, 100, NULL, err, sizeof(err));
	size_t n;

	(void)state;
	assert_non_null(window);
	assert_string_equal(err, "");
	assert_string_equal(window->labels->label[0].value, "a");
	free(labels);
	assert_true(window->n >= 6); /* two series of 40,000 samples, 16,000 a request */
	assert_true(push_window_bytes(window) < profile_bytes(profile) / 4);
	n = window->n;
	assert_string_equal(window->request[0].series->name, "block");
	push_window_skip_series(window);
	assert_true(window->failed && window->at < n);
	assert_string_equal(window->request[window->at].series->name, "process_cpu");
	push_window_skip_series(window);
	assert_int_equal(window->at, n);
	push_window_free(window);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sink_push__the_newest_windows_wait_and_the_rest_is_told),
		cmocka_unit_test(test_sink_push__the_end_is_at_once),
		cmocka_unit_test(test_sink_push__an_end_without_windows_says_nothing),
		cmocka_unit_test(test_push_window__is_small_and_cut_by_series),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
