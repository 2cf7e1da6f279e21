#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/config/config.h"
#include "profiler/output/sink.h"

#define ROOM (1 << 20)

static unsigned int n_said;
static char last_said[1024];

static void take_line(const char *line)
{
	n_said++;
	snprintf(last_said, sizeof(last_said), "%s", line);
}

static struct profile *window_profile(size_t room, size_t n_stacks)
{
	const struct profile_value_type types[] = { { "contentions", "count" },
		                                    { "delay", "nanoseconds" },
		                                    { "cpu", "nanoseconds" } };
	const int64_t values[] = { 3, 500, 70 };
	struct profile *p = profile_new(types, 3, types[0], 1, room);

	assert_non_null(p);
	profile_set_time(p, 1700000000000000000, 10);
	for (size_t i = 1; i <= n_stacks; i++) {
		int64_t id = profile_location(p, 0, i, NULL, 0);

		assert_int_equal(profile_add_sample(p, &id, 1, values, NULL, 0), 0);
	}
	return p;
}

static struct sink *sink_to(const struct config *config, const char *output)
{
	char err[1024] = "";
	struct sink *sink = sink_new(config, output, take_line, err, sizeof(err));

	if (!sink)
		fail_msg("%s", err);
	n_said = 0;
	return sink;
}

static struct config *config_pushing_to(const char *url)
{
	struct config *config = config_default();
	char err[1024] = "";

	assert_non_null(config);
	if (url && config_set(config, "push.url", url, err, sizeof(err)))
		fail_msg("%s", err);
	return config;
}

/* Nobody listens at port 1. */
static void test_sink__a_push_that_fails_is_said_once(void **state)
{
	struct config *config = config_pushing_to("http://127.0.0.1:1");
	struct sink *sink = sink_to(config, NULL);

	(void)state;
	for (unsigned int window = 1; window <= 3; window++) {
		assert_int_equal(sink_deliver(sink, window_profile(ROOM, 1)), -EIO);
		assert_int_equal(n_said, 1);
		assert_non_null(strstr(last_said, "no answer"));
		assert_null(strstr(last_said, " ms")); /* libcurl's, another one each time */
		assert_int_equal(sink_counts(sink).not_pushed, window);
	}
	assert_int_equal(sink_counts(sink).pushed, 0);
	sink_free(sink);
	config_free(config);
}

static void test_sink__what_cannot_be_made_into_a_series_is_said(void **state)
{
	const struct profile_value_type types[] = { { "alloc_space", "bytes" } };
	struct config *config = config_pushing_to("http://127.0.0.1:1");
	struct sink *sink = sink_to(config, NULL);

	(void)state;
	assert_int_equal(sink_deliver(sink, profile_new(types, 1, types[0], 1, ROOM)), -EIO);
	assert_true(n_said > 0);
	assert_non_null(strstr(last_said, "cannot make the profile to push"));
	sink_free(sink);
	config_free(config);
}

static void test_sink__windows_that_do_not_fit_are_said_and_counted(void **state)
{
	char path[64];
	struct config *config = config_pushing_to(NULL);
	struct sink *sink;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/stallprof-sink-%d.pb.gz", (int)getpid());
	sink = sink_to(config, path);
	assert_int_equal(sink_deliver(sink, window_profile(20000, 1)), 0);
	assert_int_equal(sink_deliver(sink, window_profile(ROOM, 1)), 0);
	assert_int_equal(sink_deliver(sink, window_profile(ROOM, 2000)), -EIO);
	assert_int_equal(sink_deliver(sink, window_profile(ROOM, 1)), -EIO);
	assert_int_equal(n_said, 1);
	assert_non_null(strstr(last_said, "takes no more windows"));
	assert_int_equal(sink_finish(sink), 0);
	assert_true(n_said > 1);
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
	sink_free(sink);
	config_free(config);
}

/* The folder goes, and comes back. */
static void test_sink__windows_that_cannot_be_kept_are_said_once(void **state)
{
	struct config *config = config_pushing_to(NULL);
	char folder[64], command[128];
	struct sink *sink;

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/stallprof-sink-%d/", (int)getpid());
	sink = sink_to(config, folder);
	assert_int_equal(sink_deliver(sink, window_profile(ROOM, 1)), 0);
	assert_int_equal(sink_counts(sink).kept, 1);
	assert_true(sink_counts(sink).kept_bytes > 100);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sink_deliver(sink, window_profile(ROOM, 1)), -EIO);
	assert_int_equal(n_said, 1);
	assert_non_null(strstr(last_said, "No such file"));
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(sink_deliver(sink, window_profile(ROOM, 1)), 0);
	assert_int_equal(system(command), 0);
	assert_int_equal(sink_deliver(sink, window_profile(ROOM, 1)), -EIO);
	assert_int_equal(n_said, 2);
	assert_int_equal(sink_counts(sink).kept, 2);
	assert_int_equal(sink_counts(sink).not_kept, 4);
	sink_free(sink);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sink__a_push_that_fails_is_said_once),
		cmocka_unit_test(test_sink__what_cannot_be_made_into_a_series_is_said),
		cmocka_unit_test(test_sink__windows_that_cannot_be_kept_are_said_once),
		cmocka_unit_test(test_sink__windows_that_do_not_fit_are_said_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
