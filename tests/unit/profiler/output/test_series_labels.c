/* Tests of series_labels.h: which labels all series have, and that bad ones are told at the start. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/config/config.h"
#include "profiler/output/push_window.h"
#include "profiler/output/series_labels.h"
#include "profiler/output/sink.h"
#include "tests/unit/need_root.h"

static struct config *config_with(const char *name, const char *value)
{
	struct config *config = config_default();
	char err[1024] = "";

	assert_non_null(config);
	if (config_set(config, "push.url", "http://127.0.0.1:1", err, sizeof(err)) ||
	    config_add_label(config, name, value, err, sizeof(err)))
		fail_msg("%s", err);
	return config;
}

/* The value of the label, which is there once. */
static const char *value_of(const struct series_labels *labels, const char *name)
{
	const char *value = NULL;

	for (size_t i = 0; i < labels->n; i++) {
		if (strcmp(labels->label[i].name, name) != 0)
			continue;
		assert_null(value);
		value = labels->label[i].value;
	}
	assert_non_null(value);
	return value;
}

static void test_series_labels__a_configured_host_takes_the_place_of_ours(void **state)
{
	struct config *config = config_with("host", "node7");
	struct series_labels *labels = series_labels_of(config);
	char err[256] = "";

	(void)state;
	assert_non_null(labels);
	assert_string_equal(value_of(labels, "host"), "node7");
	assert_string_equal(value_of(labels, "service_name"), "stallprof");
	if (series_labels_check(labels, err, sizeof(err)))
		fail_msg("%s", err);
	free(labels);
	config_free(config);
	config = config_with("job", "a");
	labels = series_labels_of(config);
	assert_non_null(labels);
	assert_true(value_of(labels, "host")[0]);
	assert_string_equal(value_of(labels, "job"), "a");
	free(labels);
	config_free(config);
}

static void expect_host(const struct series_labels *labels, const char *host)
{
	const struct profile_value_type types[] = { { "delay", "nanoseconds" } };
	struct profile *profile = profile_new(types, 1, types[0], 1, 1 << 20);
	struct push_window *window;
	char err[256] = "";

	assert_non_null(profile);
	window = push_window_new(profile, labels, 0, NULL, err, sizeof(err));
	assert_non_null(window);
	assert_string_equal(value_of(window->labels, "host"), host);
	assert_string_equal(value_of(window->labels, "service_name"), "stallprof");
	push_window_free(window);
	profile_free(profile);
}

static void test_series_labels__a_window_has_the_name_that_the_host_has_then(void **state)
{
	struct config *config = config_with("job", "a");
	struct series_labels *labels, *named;

	(void)state;
	need_user_root("names a host");
	if (unshare(CLONE_NEWUTS) || sethostname("localhost", 9))
		skip_for("names a host");
	labels = series_labels_of(config);
	config_free(config);
	config = config_with("host", "node7");
	named = series_labels_of(config);
	config_free(config);
	assert_true(labels && named);
	expect_host(labels, "localhost");
	assert_int_equal(sethostname("node8", 5), 0);
	expect_host(labels, "node8");
	expect_host(named, "node7");
	free(labels);
	free(named);
}

/* Not when the first window is sent, as each would be lost then. */
static void test_series_labels__what_no_server_takes_is_told_when_the_sink_is_made(void **state)
{
	struct config *config = config_with("run", "\xe9");
	char err[1024] = "";

	(void)state;
	errno = 0;
	assert_null(sink_new(config, NULL, NULL, err, sizeof(err)));
	assert_int_equal(errno, EINVAL);
	assert_string_equal(err, "series label 'run': its value is not UTF-8");
	config_free(config);
	config = config_with("run", "\xc3\xa9");
	assert_int_equal(config_set(config, "service_name", "caf\xe9", err, sizeof(err)), 0);
	assert_null(sink_new(config, NULL, NULL, err, sizeof(err)));
	assert_string_equal(err, "series label 'service_name': its value is not UTF-8");
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_series_labels__a_configured_host_takes_the_place_of_ours),
		cmocka_unit_test(test_series_labels__a_window_has_the_name_that_the_host_has_then),
		cmocka_unit_test(test_series_labels__what_no_server_takes_is_told_when_the_sink_is_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
