/* Tests of report_users.h: who used the CPUs or a disk more while it went on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/timeline.h"
#include "profiler/report/report_users.h"

#define SECOND 1000000000ULL
#define T0     (1700000000 * SECOND)

static struct report_cause runqueue = {
	.kind = TIMELINE_RUNQUEUE, .name = "runqueue", .device = "", .family = FAMILY_CPU
};
static struct report_cause disk = {
	.kind = TIMELINE_STALL, .name = "block_io", .device = "vda", .family = FAMILY_DISK
};

/* Ten seconds, of which the baseline is the first four and the incident 6 to 8. */
static struct report_ranking incident_of(const struct report_cause *primary)
{
	return (struct report_ranking){ .mode = REPORT_SPIKE,
		                        .primary = primary,
		                        .begin_ns = T0 + 6 * SECOND,
		                        .end_ns = T0 + 8 * SECOND,
		                        .baseline_begin_ns = T0,
		                        .baseline_end_ns = T0 + 4 * SECOND };
}

static void used(struct timeline *timeline, const char *name, const char *process, const char *device,
                 int from, int to, double each)
{
	const struct timeline_lane lane = {
		.kind = TIMELINE_SIGNAL, .class = process, .name = name, .device = device, .bucket_ns = SECOND
	};

	for (int at = from; at < to; at++)
		assert_int_equal(timeline_add(timeline, &lane, T0 + (uint64_t)at * SECOND,
		                              T0 + (uint64_t)(at + 1) * SECOND, (int64_t)each),
		                 0);
}

static char *text_of(const struct report_user *user)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	report_user_text(out, user);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_report_users__of_the_cpus(void **state)
{
	struct report_ranking ranking = incident_of(&runqueue);
	struct report_user users[REPORT_USERS_MAX];
	struct timeline *timeline = timeline_new(0);
	char *text;

	(void)state;
	used(timeline, HOST_USER_CPU, "train (1)", "", 0, 10, 0.9e9);
	used(timeline, HOST_USER_CPU, "make (7)", "", 6, 8, 0.3e9);
	used(timeline, HOST_USER_CPU, "spin (11)", "", 6, 8, 0.7e9);
	used(timeline, HOST_USER_CPU, "spin (12)", "", 6, 8, 0.8e9);
	used(timeline, HOST_USER_CPU, "little (2)", "", 6, 8, 0.05e9);
	used(timeline, HOST_USER_DISK, "fio (3)", "vda", 6, 8, 500e6);
	assert_int_equal(report_users_find(users, &ranking, timeline), 2);
	assert_string_equal(users[0].process, "spin (11)");
	assert_int_equal(users[0].more, 1);
	assert_true(fabs(users[0].during - 1.5) < 1e-9 && fabs(users[0].before) < 1e-9);
	text = text_of(&users[0]);
	assert_string_equal(text, "spin (11) and 1 more used 1.5 CPUs instead of 0.0");
	free(text);
	assert_string_equal(users[1].process, "make (7)");
	timeline_free(timeline);
}

static void test_report_users__of_the_disk_of_the_cause(void **state)
{
	struct report_ranking ranking = incident_of(&disk);
	struct report_user users[REPORT_USERS_MAX];
	struct timeline *timeline = timeline_new(0);
	char *text;

	(void)state;
	used(timeline, HOST_USER_CPU, "spin (11)", "", 6, 8, 0.7e9);
	used(timeline, HOST_USER_DISK, "fio (3)", "vda", 2, 4, 100e6);
	used(timeline, HOST_USER_DISK, "fio (3)", "vda", 6, 8, 500e6);
	used(timeline, HOST_USER_DISK, "dd (4)", "vdb", 6, 8, 900e6);
	assert_int_equal(report_users_find(users, &ranking, timeline), 1);
	text = text_of(&users[0]);
	assert_string_equal(text, "fio (3) had 500 MB/s of requests on vda instead of 50");
	free(text);
	timeline_free(timeline);
}

/* Another recording as the baseline says nothing of these processes: what came before the incident does, if anything did. */
static void test_report_users__given_baseline(void **state)
{
	struct report_ranking ranking = incident_of(&runqueue);
	struct report_user users[REPORT_USERS_MAX];
	struct timeline *timeline = timeline_new(0);

	(void)state;
	used(timeline, HOST_USER_CPU, "train (1)", "", 0, 10, 3.2e9);
	used(timeline, HOST_USER_CPU, "spin (11)", "", 6, 8, 0.7e9);
	ranking.baseline.given = true;
	ranking.baseline_begin_ns = ranking.baseline_end_ns = 0;
	ranking.symptom.begin_ns = T0;
	assert_int_equal(report_users_find(users, &ranking, timeline), 1);
	assert_string_equal(users[0].process, "spin (11)");
	/* Slow from the beginning on. */
	ranking.begin_ns = T0;
	assert_int_equal(report_users_find(users, &ranking, timeline), 0);
	ranking.begin_ns = T0 + SECOND / 5;
	assert_int_equal(report_users_find(users, &ranking, timeline), 0);
	timeline_free(timeline);
}

/* What ended between two looks has no name, or is told in one sum: behind who has one. */
static void test_report_users__named_come_first(void **state)
{
	struct report_ranking ranking = incident_of(&runqueue);
	struct report_user users[REPORT_USERS_MAX];
	struct timeline *timeline = timeline_new(0);

	(void)state;
	used(timeline, HOST_USER_CPU, "others", "", 6, 8, 2.5e9);
	used(timeline, HOST_USER_CPU, "? (14)", "", 6, 8, 1.5e9);
	used(timeline, HOST_USER_CPU, "spin (11)", "", 6, 8, 0.7e9);
	assert_int_equal(report_users_find(users, &ranking, timeline), 3);
	assert_string_equal(users[0].process, "spin (11)");
	assert_string_equal(users[1].process, "others");
	assert_string_equal(users[2].process, "? (14)");
	timeline_free(timeline);
}

/* Only for an incident, and the first five. */
static void test_report_users__bounds(void **state)
{
	static const char *const names[] = { "a (1)", "b (2)", "c (3)", "d (4)", "e (5)", "f (6)", "g (7)" };
	struct report_ranking ranking = incident_of(&runqueue);
	struct report_user users[REPORT_USERS_MAX];
	struct timeline *timeline = timeline_new(0);

	(void)state;
	for (size_t i = 0; i < 7; i++)
		used(timeline, HOST_USER_CPU, names[i], "", 6, 8, (double)(i + 1) * 0.2e9);
	assert_int_equal(report_users_find(users, &ranking, timeline), REPORT_USERS_MAX);
	assert_string_equal(users[0].process, "g (7)");
	assert_string_equal(users[4].process, "c (3)");
	ranking.mode = REPORT_STEADY;
	assert_int_equal(report_users_find(users, &ranking, timeline), 0);
	ranking = incident_of(NULL);
	assert_int_equal(report_users_find(users, &ranking, timeline), 0);
	timeline_free(timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_users__of_the_cpus),
		cmocka_unit_test(test_report_users__of_the_disk_of_the_cause),
		cmocka_unit_test(test_report_users__given_baseline),
		cmocka_unit_test(test_report_users__named_come_first),
		cmocka_unit_test(test_report_users__bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
