/* Tests of loaded_users.h, and of what top prints of it: who used the CPUs and a disk in the whole recording. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/json_writer.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_users.h"
#include "profiler/top/top_users.h"

#define SECOND 1000000000ULL
#define T0     (1700000000 * SECOND)

static struct loaded_profiles input;

/* Ten seconds. */
static int begin(void **state)
{
	(void)state;
	input = (struct loaded_profiles){ .timeline = timeline_new(0),
		                          .ledger = ledger_new(0),
		                          .stamp = stamp_new() };
	return stamp_add_window(input.stamp, T0, T0 + 10 * SECOND);
}

static int end(void **state)
{
	(void)state;
	timeline_free(input.timeline);
	ledger_free(input.ledger);
	stamp_free(input.stamp);
	return 0;
}

/* So much in each second before `seconds`. */
static void used_for(int seconds, const char *signal, const char *process, const char *device, double each)
{
	const struct timeline_lane lane = { .kind = TIMELINE_SIGNAL,
		                            .class = process,
		                            .name = signal,
		                            .device = device,
		                            .bucket_ns = SECOND };

	for (uint64_t at = 0; at < (uint64_t)seconds; at++)
		assert_int_equal(timeline_add(input.timeline, &lane, T0 + at * SECOND, T0 + (at + 1) * SECOND,
		                              (int64_t)each),
		                 0);
}

static void used(const char *signal, const char *process, const char *device, double each)
{
	used_for(10, signal, process, device, each);
}

static void spent(uint32_t pid, enum ledger_state state, const char *cause, const char *device, double each)
{
	const struct ledger_row row = { .tag = (char *)"step",
		                        .class = (char *)"step",
		                        .pid = pid,
		                        .comm = (char *)"python",
		                        .state = state,
		                        .cause = (char *)cause,
		                        .device = (char *)device,
		                        .ns = (int64_t)(each * 1e10) };

	assert_int_equal(ledger_add(input.ledger, &row), 0);
}

static void assert_text(const char *signal, const char *device, const char *expected)
{
	struct loaded_users users;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(loaded_users_find(&users, &input, signal, device), 0);
	assert_true(users.count > 0);
	loaded_users_text(out, &users);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, expected);
	free(text);
}

static void test_loaded_users__by_name_and_tag(void **state)
{
	(void)state;
	spent(12, LEDGER_ONCPU, "", "", 0.5);
	used(HOST_USER_CPU, "stress (1)", "", 0.9e9);
	used(HOST_USER_CPU, "stress (2)", "", 0.8e9);
	used(HOST_USER_CPU, "python (12)", "", 0.5e9);
	used(HOST_USER_CPU, "python (13)", "", 0.3e9);
	used(HOST_USER_CPU, "tmux: server (7)", "", 0.25e9);
	used(HOST_USER_CPU, "? (14)", "", 2e9);
	used(HOST_USER_DISK, "dd (4)", "vda", 310e6);
	used(HOST_USER_DISK, "dd (5)", "vdb", 900e6);
	assert_text(
	        HOST_USER_CPU, "",
	        "CPUs were used most by: stress (2 processes, 1.7 CPUs), python (pid 12, tagged, 0.5 CPUs), "
	        "python (pid 13, 0.3 CPUs); all others 2.2 CPUs");
	assert_text(HOST_USER_DISK, "vda", "vda was used most, without a tag, by: dd (pid 4, 310 MB/s)");
}

/* An agent counts while something is tagged: here for two of ten seconds. */
static void test_loaded_users__not_counted_all_the_time(void **state)
{
	(void)state;
	used_for(2, HOST_USER_CPU, "stress (1)", "", 0.9e9);
	used_for(1, HOST_USER_CPU, "make (2)", "", 0.4e9);
	used_for(2, HOST_USER_DISK, "dd (4)", "vda", 310e6);
	assert_text(HOST_USER_CPU, "",
	            "CPUs were used most by: stress (pid 1, 0.9 CPUs), make (pid 2, 0.2 CPUs)");
	assert_text(HOST_USER_DISK, "vda", "vda was used most, without a tag, by: dd (pid 4, 310 MB/s)");
}

/* A pid of one is another process on another; what they use adds up. */
static void test_loaded_users__of_several_hosts(void **state)
{
	(void)state;
	spent(12, LEDGER_ONCPU, "", "", 0.5);
	used(HOST_USER_CPU, "python (12)", "", 0.5e9);
	assert_text(HOST_USER_CPU, "", "CPUs were used most by: python (pid 12, tagged, 0.5 CPUs)");
	assert_int_equal(stamp_add_window(input.stamp, T0, T0 + 10 * SECOND), 0);
	assert_text(HOST_USER_CPU, "", "CPUs were used most by: python (pid 12, 0.5 CPUs)");
	stamp_set_booted(input.stamp, T0 - SECOND);
	used(HOST_USER_CPU, "python (12)", "", 0.5e9); /* both of one host: each has all of it */
	assert_text(HOST_USER_CPU, "", "CPUs were used most by: python (pid 12, tagged, 0.5 CPUs)");
}

/* Of names with blanks the number alone is left out; what is small is among the others. */
static void test_loaded_users__small(void **state)
{
	struct loaded_users users;

	(void)state;
	used(HOST_USER_CPU, "tmux: server (7)", "", 0.3e9);
	used(HOST_USER_CPU, "make (8)", "", 0.09e9);
	used(HOST_USER_CPU, "others", "", 0.01e9);
	assert_text(HOST_USER_CPU, "",
	            "CPUs were used most by: tmux: server (pid 7, 0.3 CPUs); all others 0.1 CPUs");
	used(HOST_USER_DISK, "kworker (3)", "vda", 1e6);
	assert_int_equal(loaded_users_find(&users, &input, HOST_USER_DISK, "vda"), 0);
	assert_int_equal(users.count, 0);
}

static void assert_lines(size_t lines, const char *expected)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(top_text_users(out, &input, 0), lines);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, expected);
	free(text);
}

/* Nothing changes in the whole recording: who uses what tags wait much for is told all the same, and of nothing else. */
static void test_loaded_users__in_top(void **state)
{
	(void)state;
	spent(12, LEDGER_ONCPU, "", "", 0.5);
	spent(12, LEDGER_BLOCKED, "lock", "", 9);
	used(HOST_USER_CPU, "stress (1)", "", 0.9e9);
	used(HOST_USER_DISK, "dd (4)", "vda", 310e6);
	spent(12, LEDGER_RUNQUEUE, "", "", 0.04);
	spent(12, LEDGER_STALL, "block_io", "vda", 0.04);
	assert_lines(0, "");
	spent(12, LEDGER_RUNQUEUE, "", "", 0.04);
	assert_lines(2, "\nCPUs were used most by: stress (pid 1, 0.9 CPUs)\n");
	spent(12, LEDGER_STALL, "throttle", "vda", 0.1);
	spent(12, LEDGER_RUNQUEUE, "", "", 0.04);
	spent(12, LEDGER_STALL, "nfs_read", "server:/export", 0.2); /* which is no disk of this host */
	assert_lines(3, "\nCPUs were used most by: stress (pid 1, 0.9 CPUs)\n"
	                "vda was used most, without a tag, by: dd (pid 4, 310 MB/s)\n");
}

/* Two named, with a quote in a name. */
static void test_loaded_users__json(void **state)
{
	struct loaded_users users;
	struct json_writer json;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	used(HOST_USER_DISK, "dd (4)", "vda", 300e6);
	used(HOST_USER_DISK, "a\"b (5)", "vda", 100e6);
	assert_int_equal(loaded_users_find(&users, &input, HOST_USER_DISK, "vda"), 0);
	json_begin(&json, out);
	json_array_begin(&json);
	loaded_users_json(&json, &users);
	json_array_end(&json);
	assert_int_equal(json_end(&json), 0);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(
	        text, "{\n    \"process\": \"dd (4)\",\n    \"processes\": 1,\n    \"tagged\": false,\n"
	              "    \"device\": \"vda\",\n    \"unit\": \"bytes/s\",\n    \"rate\": 300000000"));
	assert_non_null(strstr(text, "\"process\": \"a\\\"b (5)\""));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_loaded_users__by_name_and_tag, begin, end),
		cmocka_unit_test_setup_teardown(test_loaded_users__not_counted_all_the_time, begin, end),
		cmocka_unit_test_setup_teardown(test_loaded_users__of_several_hosts, begin, end),
		cmocka_unit_test_setup_teardown(test_loaded_users__small, begin, end),
		cmocka_unit_test_setup_teardown(test_loaded_users__in_top, begin, end),
		cmocka_unit_test_setup_teardown(test_loaded_users__json, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
