/* Tests of sink_show(): each window is seen before it is delivered, and those without tags are seen alone. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/config/config.h"
#include "profiler/output/sink.h"

#define ROOM   (1 << 20)
#define SECOND 1000000000ULL

static unsigned int n_said;

static void take_line(const char *line)
{
	(void)line;
	n_said++;
}

static struct profile *window_profile(size_t n_stacks)
{
	const struct profile_value_type type = { "delay", "nanoseconds" };
	struct profile *p = profile_new(&type, 1, type, 1, ROOM);
	const int64_t value = 5;

	assert_non_null(p);
	profile_set_time(p, 1700000000000000000, 10);
	for (size_t i = 1; i <= n_stacks; i++) {
		int64_t id = profile_location(p, 0, i, NULL, 0);

		assert_int_equal(profile_add_sample(p, &id, 1, &value, NULL, 0), 0);
	}
	return p;
}

static struct sink *sink_to(const struct config *config, const char *output)
{
	char err[1024] = "";
	struct sink *sink = sink_new(config, output, take_line, err, sizeof(err));

	if (!sink)
		fail_msg("%s", err);
	return sink;
}

/* Until nothing more is to be done, for 30 s at most. */
static void settle(struct sink *sink)
{
	for (int i = 0; i < 15000 && (sink_poll(sink), sink_waiting(sink)); i++)
		usleep(2000);
	assert_int_equal(sink_waiting(sink), 0);
	sink_poll(sink);
}

struct shown {
	atomic_uint n;
	atomic_size_t samples;
};

static void count_shown(void *ctx, const struct profile *profile)
{
	struct shown *shown = ctx;

	atomic_fetch_add(&shown->n, 1);
	atomic_fetch_add(&shown->samples, profile_n_samples(profile));
}

static void test_sink_show__windows_are_shown(void **state)
{
	struct config *config = config_default();
	struct sink *sink = sink_to(config, NULL);
	struct shown shown = { 0 };

	(void)state;
	/* Nobody looks: it is freed. */
	sink_deliver_idle(sink, window_profile(1));
	assert_int_equal(sink_waiting(sink), 0);
	assert_int_equal(sink_show(sink, count_shown, &shown), 0);
	sink_deliver(sink, window_profile(2));
	sink_deliver_idle(sink, window_profile(3));
	settle(sink);
	assert_int_equal(atomic_load(&shown.n), 2);
	assert_int_equal(atomic_load(&shown.samples), 5);
	sink_end(sink, window_profile(4), SECOND);
	for (int i = 0; i < 15000 && !sink_poll(sink); i++)
		usleep(2000);
	assert_int_equal(sink_finish(sink), 0);
	assert_int_equal(atomic_load(&shown.n), 3);
	assert_int_equal(n_said, 0);
	sink_free(sink);
	config_free(config);
}

static void test_sink_show__what_is_only_shown_is_not_written(void **state)
{
	char dir[] = "/tmp/stallprof-sink-XXXXXX", output[64];
	struct config *config = config_default();
	struct shown shown = { 0 };
	struct sink *sink;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(output, sizeof(output), "%s/", dir);
	sink = sink_to(config, output);
	assert_int_equal(sink_show(sink, count_shown, &shown), 0);
	sink_deliver_idle(sink, window_profile(1));
	settle(sink);
	assert_int_equal(sink_counts(sink).kept, 0);
	sink_deliver(sink, window_profile(1));
	settle(sink);
	assert_int_equal(sink_counts(sink).kept, 1);
	assert_int_equal(atomic_load(&shown.n), 2);
	unlink(sink_last_file(sink));
	assert_int_equal(sink_finish(sink), 0);
	sink_free(sink);
	rmdir(dir);
	config_free(config);
}

struct slow {
	atomic_bool goes_on;
	atomic_uint seen, missing;
};

/* Looks at the first one until it may go on. */
static void look_slowly(void *ctx, const struct profile *profile)
{
	struct slow *slow = ctx;

	if (!profile) {
		atomic_fetch_add(&slow->missing, 1);
		return;
	}
	atomic_fetch_add(&slow->seen, 1);
	while (!atomic_load(&slow->goes_on))
		usleep(1000);
}

static void test_sink_show__what_is_dropped_is_told(void **state)
{
	struct config *config = config_default();
	struct sink *sink = sink_to(config, NULL);
	struct slow slow = { 0 };

	(void)state;
	assert_int_equal(sink_show(sink, look_slowly, &slow), 0);
	sink_deliver(sink, window_profile(1));
	while (!atomic_load(&slow.seen))
		usleep(1000);
	for (int i = 0; i < SINK_PACK_WINDOWS + 4; i++) {
		sink_deliver(sink, window_profile(1));
		sink_deliver_idle(sink, window_profile(1));
	}
	atomic_store(&slow.goes_on, true);
	settle(sink);
	assert_int_equal(atomic_load(&slow.seen), SINK_PACK_WINDOWS);
	assert_int_equal(atomic_load(&slow.missing), SINK_PACK_WINDOWS + 9);
	assert_int_equal(sink_finish(sink), 0);
	sink_free(sink);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sink_show__windows_are_shown),
		cmocka_unit_test(test_sink_show__what_is_only_shown_is_not_written),
		cmocka_unit_test(test_sink_show__what_is_dropped_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
