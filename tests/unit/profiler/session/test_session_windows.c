/*
 * Tests of session_windows.c: windows follow each other without a gap, and each event goes to its own. Without memory
 * for a window its events are lost and counted, and the next one says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/format/gpu_job_rows.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "tests/unit/fake_session.h"

#define BLOCKS           32768
#define BLOCK_BYTES      1000
#define WINDOW_BYTES_MAX (512u << 20)

/* Windows cannot be had, as a profile of one byte cannot. */
static void set_memory(struct session *session, bool there_is)
{
	session->deps.max_bytes = there_is ? WINDOW_BYTES_MAX : 1;
}

static uint64_t counter(const struct profile *profile, const char *name)
{
	struct stamp *stamp = stamp_new();
	uint64_t value;

	assert_non_null(profile);
	assert_int_equal(stamp_from_notes(stamp, profile, NULL), 0);
	value = stamp_counter(stamp, name);
	stamp_free(stamp);
	return value;
}

static void add(struct session *session)
{
	const struct abi_event event = { .kind = ABI_EVENT_WAIT, .tgid = 1, .tid = 1, .tag = 7 };
	const struct abi_ledger_key key = { .tag = 7, .tgid = 1, .state = ABI_ONCPU };
	const struct abi_ledger_value value = { .ns = 1000, .count = 1 };

	session_on_event(session, &event);
	assert_int_equal(session_on_row(session, &key, &value), 0);
}

static void end_window(struct session *session, uint64_t lost_events, uint64_t lost_ns)
{
	struct profile *profile = session_end_window(session);

	assert_int_equal(counter(profile, "events_without_memory"), lost_events);
	assert_int_equal(counter(profile, "ledger_without_memory_ns"), lost_ns);
	profile_free(profile);
}

static void test_session_windows__no_memory_for_the_next(void **state)
{
	struct session_progress progress = { .samples = 1 };
	struct session *session = fake_session_begin();

	(void)state;
	set_memory(session, false);
	end_window(session, 0, 0);
	assert_null(session->current);
	session_progress(session, &progress);
	assert_int_equal(progress.samples, 0);
	add(session);
	add(session);
	assert_int_equal(session_tick(session), 0);
	assert_null(session_end_window(session));
	assert_int_equal(errno, ENOMEM);
	set_memory(session, true);
	add(session); /* there is a window again */
	assert_non_null(session->current);
	end_window(session, 2, 2000);
	end_window(session, 0, 0);
	fake_session_end(session);
}

/* Events of the next window that come before this one is made go to that; without memory for it they are counted. */
static void test_session_windows__events_of_the_next(void **state)
{
	const struct abi_event early = { .kind = ABI_EVENT_WAIT, .tgid = 1, .tid = 1, .tag = 7, .window = 9 };
	struct session *session = fake_session_begin();

	(void)state;
	session->first_of_next = 9;
	set_memory(session, false);
	session_on_event(session, &early);
	assert_null(session->next);
	assert_int_equal(session->lost_events, 1);
	set_memory(session, true);
	session_on_event(session, &early);
	assert_non_null(session->next);
	assert_int_equal(window_samples(session->current), 0);
	end_window(session, 1, 0);
	assert_null(session->next);
	fake_session_end(session);
}

/* The jobs in the profile of the window that ends, of no tag. */
static uint64_t n_jobs_of(struct session *session)
{
	struct profile *profile = session_end_window(session);
	struct gpu_job_rows *rows = gpu_job_rows_new();
	uint64_t n = 0;

	assert_non_null(rows);
	assert_int_equal(gpu_job_rows_from_notes(rows, profile, NULL), 0);
	for (size_t i = 0; i < gpu_job_rows_count(rows); i++) {
		assert_string_equal(gpu_job_rows_at(rows, i)->class, "");
		n += gpu_job_rows_at(rows, i)->jobs;
	}
	gpu_job_rows_free(rows);
	profile_free(profile);
	return n;
}

/* As events do. */
static void test_session_windows__gpu_jobs(void **state)
{
	struct abi_gpu_job job = { .kind = ABI_EVENT_GPU_JOB, .tag = ABI_NOBODYS_TAG, .total_ns = 5 };
	struct session *session = fake_session_begin();

	(void)state;
	session->first_of_next = 9;
	session_on_event(session, (const struct abi_event *)&job);
	job.window = 9;
	session_on_event(session, (const struct abi_event *)&job);
	session_on_event(session, (const struct abi_event *)&job);
	assert_int_equal(n_jobs_of(session), 1);
	assert_int_equal(n_jobs_of(session), 2);
	assert_int_equal(n_jobs_of(session), 0);
	fake_session_end(session);
}

/* Each begins where the one before it ended: at the moment at which the walk cut the threads' time. */
static void test_session_windows__one_after_the_other(void **state)
{
	struct session *session = fake_session_begin();
	const uint64_t lengths[] = { FAKE_SECOND_NS, FAKE_SECOND_NS / 4, FAKE_SECOND_NS / 2 };
	uint64_t begin_unix_ns, cut = monotonic_ns() - 10 * FAKE_SECOND_NS;

	(void)state;
	fake.walked_ns = cut;
	profile_free(session_end_window(session));
	begin_unix_ns = session->begin_unix_ns;
	for (size_t i = 0; i < 3; i++) {
		struct profile *profile;

		fake.walked_ns = cut += lengths[i];
		profile = session_end_window(session);
		assert_int_equal(profile_duration_ns(profile), lengths[i]);
		assert_int_equal(profile_time_ns(profile), begin_unix_ns);
		begin_unix_ns = session->begin_unix_ns;
		profile_free(profile);
	}
	assert_int_equal(fake.flushes, 4);
	fake_session_end(session);
}

static size_t n_samples_of(struct session *session)
{
	struct profile *profile = session_end_window(session);
	uint64_t n = counter(profile, "samples");

	profile_free(profile);
	return n;
}

/* Those that were sent before the ledger was changed belong to the window that ends, later ones to the next; and once that one
 * has begun, to it, not to another one yet. */
static void test_session_windows__each_event_to_its_own(void **state)
{
	struct session *session = fake_session_begin();
	struct abi_event event = {
		.kind = ABI_EVENT_WAIT, .tgid = 1, .tid = 1, .tag = 7, .flags = ABI_NO_USER_COPY
	};

	(void)state;
	event.window = session->number; /* of this window, read at its end */
	fake.event = &event;
	fake.n_events = 2;
	assert_int_equal(n_samples_of(session), 2);
	event.window = session->number + 1; /* of the next, read at the end of this */
	fake.n_events = 3;
	assert_int_equal(n_samples_of(session), 0);
	assert_int_equal(window_samples(session->current), 3);
	session_on_event(session, &event);
	assert_null(session->next);
	assert_int_equal(window_samples(session->current), 4);
	assert_int_equal(n_samples_of(session), 4);
	fake_session_end(session);
}

/* Rows are of the window that ends, and the ledger's map has another number from then on. */
static void test_session_windows__rows_of_the_end(void **state)
{
	const struct abi_ledger_key key = { .tag = 7, .tgid = 1, .state = ABI_ONCPU };
	const struct abi_ledger_value value = { .ns = 1000, .count = 1 };
	struct session *session = fake_session_begin();
	struct ledger *ledger = ledger_new(0);
	struct profile *profile;

	(void)state;
	fake.row_key = &key;
	fake.row = &value;
	fake.n_rows = 3;
	profile = session_end_window(session);
	assert_int_equal(ledger_from_notes(ledger, profile, NULL), 0);
	assert_int_equal(ledger_wall_ns(ledger, NULL), 3000);
	assert_int_equal(fake.takes, 1);
	assert_int_equal(fake.ledger, session->number);
	profile_free(profile);
	ledger_free(ledger);
	fake_session_end(session);
}

/* What cannot be read in time is counted as lost, not resolved. */
static void test_session_windows__too_much_at_the_end(void **state)
{
	struct abi_event event = {
		.kind = ABI_EVENT_WAIT, .tgid = 1, .tid = 1, .tag = 7, .flags = ABI_NO_USER_COPY
	};
	struct session *session = fake_session_begin();
	struct profile *profile;

	(void)state;
	event.window = session->number;
	session->too_late = true; /* as in the second drain of drain() */
	session_on_event(session, &event);
	session->too_late = false;
	fake.poll_result = 1;
	profile = session_end_window(session);
	assert_int_equal(counter(profile, "samples"), 0);
	assert_int_equal(counter(profile, "samples_lost"), 1);
	assert_int_equal(fake.polls, 2);
	assert_false(session->too_late);
	profile_free(profile);
	fake_session_end(session);
}

/* A walk that fails costs what it would have told, neither the window nor the ones after it. */
static void test_session_windows__a_walk_that_fails(void **state)
{
	const struct abi_ledger_key key = { .tag = 7, .tgid = 1, .state = ABI_ONCPU };
	const struct abi_ledger_value value = { .ns = 1000, .count = 1 };
	struct session *session = fake_session_begin();
	struct ledger *ledger = ledger_new(0);
	struct profile *profile;

	(void)state;
	add(session);
	fake.row_key = &key;
	fake.row = &value;
	fake.n_rows = 1;
	fake.walk_error = -EMFILE;
	profile = session_end_window(session);
	assert_int_equal(counter(profile, "window_walks_failed"), 1);
	assert_int_equal(counter(profile, "samples"), 1);
	assert_int_equal(ledger_from_notes(ledger, profile, NULL), 0);
	assert_int_equal(ledger_wall_ns(ledger, NULL), 2000);
	profile_free(profile);
	ledger_free(ledger);
	fake.walk_error = 0;
	profile = session_end_window(session);
	assert_int_equal(counter(profile, "window_walks_failed"), 0);
	profile_free(profile);
	fake_session_end(session);
}

static size_t resident_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* What was freed below something that is kept goes back when windows end at rest. */
static void test_session_windows__rest(void **state)
{
	struct session *session = fake_session_begin();
	void **blocks = calloc(BLOCKS, sizeof(*blocks));
	size_t before;

	(void)state;
	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BLOCK_BYTES);
		memset(blocks[i], 1, BLOCK_BYTES);
	}
	for (size_t i = 0; i < BLOCKS - 1; i++)
		free(blocks[i]);
	before = resident_bytes();
	end_window(session, 0, 0);
#ifdef __SANITIZE_ADDRESS__
	(void)before; /* its allocator gives nothing back */
#else
	assert_true(resident_bytes() + BLOCKS * BLOCK_BYTES / 2 < before);
#endif
	free(blocks[BLOCKS - 1]);
	free(blocks);
	fake_session_end(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session_windows__no_memory_for_the_next),
		cmocka_unit_test(test_session_windows__events_of_the_next),
		cmocka_unit_test(test_session_windows__rest),
		cmocka_unit_test(test_session_windows__gpu_jobs),
		cmocka_unit_test(test_session_windows__one_after_the_other),
		cmocka_unit_test(test_session_windows__each_event_to_its_own),
		cmocka_unit_test(test_session_windows__rows_of_the_end),
		cmocka_unit_test(test_session_windows__too_much_at_the_end),
		cmocka_unit_test(test_session_windows__a_walk_that_fails),
	};

	return cmocka_run_group_tests_name("session_windows", tests, NULL, NULL);
}
