/* Tests of window_sender.h where memory is short: linked with failing_allocator.h, as the Makefile does for all test_NAME_memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>

#include "profiler/config/config.h"
#include "profiler/output/push_window.h"
#include "profiler/output/sink_news.h"
#include "profiler/output/sink_spool.h"
#include "profiler/output/window_sender.h"
#include "tests/unit/failing_allocator.h"
#include "tests/unit/profiler/output/spool_window.h"

static const char *const bodies[] = { "one", "two", "three" };

/* Nobody listens at port 1. */
static void test_window_sender__a_moment_without_memory_costs_no_window(void **state)
{
	struct push_window *window = spool_window("job-a", bodies, 3);
	struct config *config = config_default();
	struct sink_news *news = sink_news_new();
	struct sink_spool *none = sink_spool_new("", news);
	struct window_sender *sender;
	char err[1024] = "";

	(void)state;
	assert_int_equal(config_set(config, "push.url", "http://127.0.0.1:1", err, sizeof(err)), 0);
	sender = window_sender_new(&config->push, none, news, err, sizeof(err));
	assert_non_null(sender);
	forget_all();
	do {
		n_allocations = 0;
		fails_at++;
		has_failed = false;
		assert_int_equal(window_sender_send(sender, window, WINDOW_FIRST), WINDOW_LATER);
		assert_int_equal(window->at, 0);
		assert_false(window->failed);
	} while (has_failed);
	assert_true(fails_at > 1);
	assert_int_equal(n_live, 0);
	fails_at = 0;
	window_sender_free(sender);
	push_window_free(window);
	sink_spool_free(none);
	sink_news_free(news);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window_sender__a_moment_without_memory_costs_no_window),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
