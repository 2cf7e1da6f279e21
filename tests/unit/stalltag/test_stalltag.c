/* Tests of stalltag.h: what a reader sees of a thread's tags, decoded from the bytes as OTEP 4947 lays them out. Pushes tags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stalltag/stalltag.h"

extern __thread const uint8_t *volatile stalltag_thread_ctx_v1;
extern __thread const uint8_t *volatile otel_thread_ctx_v1;

struct seen {
	bool any;
	uint64_t id;
	char name[256];
	bool has_trace;
};

/* A reader's view of one slot; any = false where the OTEP says to ignore it. */
static struct seen decode(const uint8_t *record)
{
	struct seen seen = { 0 };
	uint16_t bytes, at = 0;

	if (!record || record[24] != 1)
		return seen;
	seen.any = true;
	for (int i = 0; i < 8; i++)
		seen.id = seen.id << 8 | record[16 + i];
	for (int i = 0; i < 16; i++)
		seen.has_trace |= record[i] != 0;
	memcpy(&bytes, record + 26, 2);
	while (at + 2 <= bytes && at + 2 + record[28 + at + 1] <= bytes) {
		uint8_t length = record[28 + at + 1];

		if (record[28 + at] == 0) {
			memcpy(seen.name, record + 30 + at, length);
			seen.name[length] = '\0';
		}
		at += 2 + length;
	}
	return seen;
}

#define assert_tag(slot, want_id, want_name)                                                                 \
	do {                                                                                                 \
		struct seen seen_ = decode(slot);                                                            \
		assert_true(seen_.any);                                                                      \
		assert_int_equal(seen_.id, want_id);                                                         \
		assert_string_equal(seen_.name, want_name);                                                  \
	} while (0)

static void assert_nothing(void)
{
	assert_null(stalltag_thread_ctx_v1);
	assert_null(otel_thread_ctx_v1);
	assert_int_equal(stalltag_depth(), 0);
}

static void test_stalltag__nests(void **state)
{
	(void)state;
	assert_nothing();
	stalltag_push(80000, "checkpoint_write/run42/step80000/shard17");
	assert_tag(stalltag_thread_ctx_v1, 80000, "checkpoint_write/run42/step80000/shard17");
	stalltag_push(UINT64_MAX, "fsync");
	assert_tag(stalltag_thread_ctx_v1, UINT64_MAX, "fsync");
	assert_tag(otel_thread_ctx_v1, UINT64_MAX, "fsync");
	assert_int_equal(stalltag_depth(), 2);
	stalltag_pop();
	assert_tag(stalltag_thread_ctx_v1, 80000, "checkpoint_write/run42/step80000/shard17");
	assert_tag(otel_thread_ctx_v1, 80000, "checkpoint_write/run42/step80000/shard17");
	stalltag_pop();
	assert_nothing();
}

static void test_stalltag__id_reads_as_16_hex_digits(void **state)
{
	static const uint8_t want[8] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };

	(void)state;
	stalltag_push(0x0123456789abcdef, "x");
	assert_memory_equal(stalltag_thread_ctx_v1 + 16, want, 8);
	assert_true(decode(stalltag_thread_ctx_v1).has_trace);
	stalltag_pop();
}

static void test_stalltag__id_zero_has_no_trace(void **state)
{
	static const uint8_t zero[24];

	(void)state;
	stalltag_push(7, "first");
	stalltag_pop();
	stalltag_push(0, "no_id");
	assert_tag(stalltag_thread_ctx_v1, 0, "no_id");
	assert_memory_equal(stalltag_thread_ctx_v1, zero, 24);
	assert_int_equal(stalltag_thread_ctx_v1[25], 0);
	stalltag_pop();
	stalltag_push(8, "with_id_again");
	assert_true(decode(stalltag_thread_ctx_v1).has_trace);
	stalltag_pop();
}

static void test_stalltag__names_of_every_length(void **state)
{
	char name[STALLTAG_NAME_MAX + 1];

	(void)state;
	for (size_t length = 0; length <= STALLTAG_NAME_MAX; length++) {
		for (size_t i = 0; i < length; i++)
			name[i] = (char)('a' + (i * 7 + length) % 26);
		name[length] = '\0';
		stalltag_push(length + 1, name);
		assert_tag(stalltag_thread_ctx_v1, length + 1, name);
		stalltag_pop();
		stalltag_push_sized(length + 1, name, length);
		assert_tag(stalltag_thread_ctx_v1, length + 1, name);
		stalltag_pop();
	}
	stalltag_push(5, NULL);
	assert_tag(stalltag_thread_ctx_v1, 5, "");
	stalltag_pop();
}

static void test_stalltag__long_names_are_cut_between_characters(void **state)
{
	struct stalltag_losses before, after;
	char name[400], want[256];

	(void)state;
	stalltag_read_losses(&before);
	memset(name, 'n', sizeof(name));
	name[399] = '\0';
	memcpy(want, name, 255);
	want[255] = '\0';
	stalltag_push(1, name);
	assert_tag(stalltag_thread_ctx_v1, 1, want);
	stalltag_pop();

	memcpy(name + 253, "\xe2\x82\xac", 3); /* a euro sign over bytes 253 to 255 */
	want[253] = '\0';
	stalltag_push(1, name);
	assert_tag(stalltag_thread_ctx_v1, 1, want);
	stalltag_pop();
	stalltag_read_losses(&after);
	assert_int_equal(after.names_cut - before.names_cut, 2);
}

static void test_stalltag__too_deep_stays_balanced(void **state)
{
	struct stalltag_losses before, after;
	char name[32];

	(void)state;
	stalltag_read_losses(&before);
	for (uint64_t i = 1; i <= STALLTAG_DEPTH_MAX + 10; i++) {
		snprintf(name, sizeof(name), "level/%" PRIu64, i);
		stalltag_push(i, name);
	}
	assert_int_equal(stalltag_depth(), STALLTAG_DEPTH_MAX + 10);
	assert_tag(stalltag_thread_ctx_v1, STALLTAG_DEPTH_MAX, "level/32");
	for (uint64_t i = STALLTAG_DEPTH_MAX + 10; i >= 1; i--) {
		uint64_t shown = i < STALLTAG_DEPTH_MAX ? i : STALLTAG_DEPTH_MAX;

		snprintf(name, sizeof(name), "level/%" PRIu64, shown);
		assert_tag(stalltag_thread_ctx_v1, shown, name);
		stalltag_pop();
	}
	assert_nothing();
	stalltag_read_losses(&after);
	assert_int_equal(after.too_deep - before.too_deep, 10);
}

static void test_stalltag__stray_pops_are_counted(void **state)
{
	struct stalltag_losses before, after;

	(void)state;
	stalltag_read_losses(&before);
	stalltag_pop();
	stalltag_pop();
	assert_nothing();
	stalltag_push(3, "after_stray_pops");
	assert_tag(stalltag_thread_ctx_v1, 3, "after_stray_pops");
	stalltag_pop();
	stalltag_read_losses(&after);
	assert_int_equal(after.stray_pops - before.stray_pops, 2);
}

static void *thread_of_its_own(void *argument)
{
	uint64_t number = (uint64_t)(uintptr_t)argument;
	char name[64];

	if (stalltag_thread_ctx_v1)
		return "a new thread has a tag";
	for (int round = 0; round < 2000; round++) {
		struct seen seen;

		snprintf(name, sizeof(name), "thread/%" PRIu64 "/round/%d", number, round);
		stalltag_push(number << 32 | (uint64_t)round, name);
		seen = decode(stalltag_thread_ctx_v1);
		if (!seen.any || seen.id != (number << 32 | (uint64_t)round) || strcmp(seen.name, name))
			return "a thread sees another tag";
		stalltag_pop();
	}
	stalltag_push(1, "held at exit");
	return NULL;
}

static void test_stalltag__threads_have_their_own(void **state)
{
	pthread_t threads[8];

	(void)state;
	stalltag_push(9, "main");
	for (uintptr_t i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, thread_of_its_own, (void *)(i + 1)), 0);
	for (int i = 0; i < 8; i++) {
		void *complaint;

		pthread_join(threads[i], &complaint);
		assert_null(complaint);
	}
	assert_tag(stalltag_thread_ctx_v1, 9, "main");
	stalltag_pop();
}

static long mapped_kib(void)
{
	FILE *statm = fopen("/proc/self/statm", "r");
	long pages = 0;

	assert_non_null(statm);
	assert_int_equal(fscanf(statm, "%ld", &pages), 1);
	fclose(statm);
	return pages * 4;
}

static void test_stalltag__threads_leave_nothing_behind(void **state)
{
	long before = 0;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, thread_of_its_own, (void *)1), 0);
		pthread_join(thread, NULL);
		if (i == 100)
			before = mapped_kib();
	}
	assert_in_range(mapped_kib(), 0, before + 4096); /* 1,900 threads' records would be 20 MB */
}

static int count_contexts(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;

	while (maps && fgets(line, sizeof(line), maps))
		count += strstr(line, "OTEL_CTX") != NULL;
	if (maps)
		fclose(maps);
	return count;
}

static void test_stalltag__children_of_fork_hold_the_tags(void **state)
{
	pid_t child;
	int status;

	(void)state;
	stalltag_push(11, "parent");
	assert_int_equal(stalltag_public_state(), 1);
	assert_int_equal(count_contexts(), 1);
	child = fork();
	if (!child) {
		struct seen seen = decode(stalltag_thread_ctx_v1);
		bool good = seen.any && seen.id == 11 && count_contexts() == 1;

		stalltag_push(12, "child");
		seen = decode(stalltag_thread_ctx_v1);
		good = good && seen.id == 12;
		stalltag_pop();
		stalltag_pop();
		_exit(good && !stalltag_thread_ctx_v1 ? 0 : 1);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	assert_tag(stalltag_thread_ctx_v1, 11, "parent");
	stalltag_pop();
}

static volatile sig_atomic_t interruptions, torn;

/* Interrupts a push or pop anywhere; what it finds must be whole, and what it pushes must not harm. */
static void on_alarm(int signal)
{
	char want[64];
	struct seen seen = decode(stalltag_thread_ctx_v1);
	const uint8_t *before = stalltag_thread_ctx_v1;

	(void)signal;
	interruptions++;
	if (seen.any) {
		snprintf(want, sizeof(want), "%0*" PRIu64, (int)(seen.id % 50) + 1, seen.id);
		torn += strcmp(seen.name, want) != 0;
	}
	stalltag_push(99, "00000000000000000000000000000000000000000000000099");
	torn += decode(stalltag_thread_ctx_v1).id != 99;
	stalltag_pop();
	torn += stalltag_thread_ctx_v1 != before;
}

static void test_stalltag__interrupted_anywhere(void **state)
{
	struct itimerval often = { .it_interval.tv_usec = 50, .it_value.tv_usec = 50 };
	struct itimerval never = { .it_interval.tv_usec = 0 };
	char name[64];

	(void)state;
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	for (uint64_t id = 1; interruptions < 2000 && id < 20000000; id++) {
		snprintf(name, sizeof(name), "%0*" PRIu64, (int)(id % 50) + 1, id);
		stalltag_push(id, name);
		stalltag_push(id, name);
		stalltag_pop();
		stalltag_pop();
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	assert_true(interruptions >= 2000);
	assert_int_equal(torn, 0);
	assert_nothing();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalltag__nests),
		cmocka_unit_test(test_stalltag__id_reads_as_16_hex_digits),
		cmocka_unit_test(test_stalltag__id_zero_has_no_trace),
		cmocka_unit_test(test_stalltag__names_of_every_length),
		cmocka_unit_test(test_stalltag__long_names_are_cut_between_characters),
		cmocka_unit_test(test_stalltag__too_deep_stays_balanced),
		cmocka_unit_test(test_stalltag__stray_pops_are_counted),
		cmocka_unit_test(test_stalltag__threads_have_their_own),
		cmocka_unit_test(test_stalltag__threads_leave_nothing_behind),
		cmocka_unit_test(test_stalltag__children_of_fork_hold_the_tags),
		cmocka_unit_test(test_stalltag__interrupted_anywhere),
	};

	return cmocka_run_group_tests_name("stalltag", tests, NULL, NULL);
}
