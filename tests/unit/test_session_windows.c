/* A session that has no memory for a window: what comes meanwhile is lost, counted, and told by the next window. Needs root. */
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
#include "profiler/config.h"
#include "profiler/session_state.h"
#include "profiler/stamp.h"
#include "tests/unit/need_root.h"

#define BLOCKS      32768
#define BLOCK_BYTES 1000

static bool no_memory;

struct window *__real_window_new(const struct window_deps *deps);
struct window *__wrap_window_new(const struct window_deps *deps)
{
	errno = ENOMEM;
	return no_memory ? NULL : __real_window_new(deps);
}

static void say(const char *line)
{
	print_message("# %s\n", line);
}

/* One that follows nobody, so that nothing comes but what the test makes. */
static struct session *begin(struct config **config)
{
	const struct session_opts opts = { .only_adopted = true };
	struct session *session;
	char err[2048] = "";

	need_root(PRIVILEGE_LOAD);
	no_memory = false;
	*config = config_default();
	session = session_new(*config, &opts, say, err, sizeof(err));
	if (!session || session_start(session, err, sizeof(err)))
		fail_msg("%s", err);
	return session;
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
	struct config *config;
	struct session *session = begin(&config);

	(void)state;
	no_memory = true;
	end_window(session, 0, 0);
	assert_null(session->current);
	session_progress(session, &progress);
	assert_int_equal(progress.samples, 0);
	add(session);
	add(session);
	assert_int_equal(session_tick(session), 0);
	assert_null(session_end_window(session));
	assert_int_equal(errno, ENOMEM);
	no_memory = false;
	add(session); /* there is a window again */
	assert_non_null(session->current);
	end_window(session, 2, 2000);
	end_window(session, 0, 0);
	session_free(session);
	config_free(config);
}

/* Events of the next window that come before this one is made go to that; without memory for it they are counted. */
static void test_session_windows__events_of_the_next(void **state)
{
	const struct abi_event early = { .kind = ABI_EVENT_WAIT, .tgid = 1, .tid = 1, .tag = 7, .window = 9 };
	struct config *config;
	struct session *session = begin(&config);

	(void)state;
	session->first_of_next = 9;
	no_memory = true;
	session_on_event(session, &early);
	assert_null(session->next);
	assert_int_equal(session->lost_events, 1);
	no_memory = false;
	session_on_event(session, &early);
	assert_non_null(session->next);
	assert_int_equal(window_samples(session->current), 0);
	end_window(session, 1, 0);
	assert_null(session->next);
	session_free(session);
	config_free(config);
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
	struct config *config;
	struct session *session = begin(&config);
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
	assert_true(resident_bytes() + BLOCKS * BLOCK_BYTES / 2 < before);
	free(blocks[BLOCKS - 1]);
	free(blocks);
	session_free(session);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session_windows__no_memory_for_the_next),
		cmocka_unit_test(test_session_windows__events_of_the_next),
		cmocka_unit_test(test_session_windows__rest),
	};

	return cmocka_run_group_tests_name("session_windows", tests, NULL, NULL);
}
