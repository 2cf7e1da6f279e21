/* Tests of probed_files.h: when probes of a file are attached and let go. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "profiler/tags/probed_files.h"
#include "profiler/tags/tag_file.h"
#include "profiler/tracer/tracer_state.h"

#define SECOND_NS 1000000000ULL
#define ROOM      8

/* A tracer that has room for so many files. */
static bool watched[ROOM];
static unsigned int n_watched, n_attempts, n_lines;
static int error;

static int watch_file(struct tracer *tracer, const char *path, const struct tracer_probes *probes, char *err,
                      size_t err_len)
{
	(void)tracer;
	assert_true(probes->change && !probes->process && !probes->log);
	n_attempts++;
	snprintf(err, err_len, "%s is refused", path);
	for (int i = 0; i < ROOM && !error; i++) {
		if (watched[i])
			continue;
		watched[i] = true;
		n_watched++;
		return i;
	}
	return error ? error : -ENOSPC;
}

static void unwatch_file(struct tracer *tracer, int file)
{
	(void)tracer;
	assert_true(watched[file]);
	watched[file] = false;
	n_watched--;
}

static const struct tracer_ops ops = { .watch_file = watch_file, .unwatch_file = unwatch_file };
static struct tracer tracer = { .ops = &ops };

static void say(const char *line)
{
	(void)line;
	n_lines++;
}

static uint64_t attach(struct probed_files *files, uint32_t pid, ino_t inode, uint64_t now_ns)
{
	const struct probed_file_at at = { .dev = 1,
		                           .inode = inode,
		                           .path = "/file",
		                           .probes = TAG_FILE_PROBE_CHANGE,
		                           .of_interest = true };

	return probed_files_attach(files, pid, &at, now_ns);
}

static int reset(void **state)
{
	memset(watched, 0, sizeof(watched));
	n_watched = n_attempts = n_lines = 0;
	error = 0;
	*state = probed_files_new(&tracer, say);
	return *state ? 0 : -1;
}

static int end(void **state)
{
	probed_files_free(*state);
	return 0;
}

/* It is let go a while after the last process that maps it has gone, forked ones too. */
static void test_probed_files__last_process(void **state)
{
	struct probed_files *files = *state;
	uint64_t now = 100 * SECOND_NS;
	uint32_t self = (uint32_t)getpid(), parent = (uint32_t)getppid();

	assert_true(attach(files, self, 7, now) == now);
	assert_true(attach(files, self, 7, now + 1) == now);
	probed_files_forked(files, parent, self);
	assert_int_equal(n_attempts, 1);
	probed_files_left(files, self, now);
	probed_files_expire(files, now + 100 * SECOND_NS);
	assert_int_equal(n_watched, 1);
	probed_files_left(files, parent, now + 100 * SECOND_NS);
	probed_files_left(files, parent, now + 101 * SECOND_NS);
	probed_files_expire(files, now + 100 * SECOND_NS + PROBED_FILES_LINGER_NS);
	assert_int_equal(n_watched, 1);
	probed_files_expire(files, now + 100 * SECOND_NS + PROBED_FILES_LINGER_NS + 1);
	assert_int_equal(n_watched, 0);
	assert_true(attach(files, self, 7, now + 200 * SECOND_NS) == now + 200 * SECOND_NS);
	assert_int_equal(n_watched, 1);
}

/* One that whoever may maps stays; and one whose process ended unseen goes. */
static void test_probed_files__unseen_end(void **state)
{
	struct probed_files *files = *state;
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	attach(files, 0, 1, SECOND_NS);
	attach(files, (uint32_t)child, 2, SECOND_NS);
	attach(files, (uint32_t)getpid(), 3, SECOND_NS);
	assert_int_equal(n_watched, 3);
	probed_files_expire(files, SECOND_NS + PROBED_FILES_SWEEP_NS + 1);
	probed_files_expire(files, 2 * SECOND_NS + PROBED_FILES_SWEEP_NS + PROBED_FILES_LINGER_NS);
	assert_int_equal(n_watched, 2);
}

/* Those that are due go together. */
static void test_probed_files__go_together(void **state)
{
	struct probed_files *files = *state;

	for (uint32_t i = 1; i <= ROOM; i++)
		attach(files, i, 1000 + i, SECOND_NS);
	for (uint32_t i = 2; i <= ROOM; i++)
		probed_files_left(files, i, SECOND_NS);
	probed_files_expire(files, 2 * SECOND_NS + PROBED_FILES_LINGER_NS);
	assert_int_equal(n_watched, 1);
}

/* Ten times as many as there is room for, one after the other: those that linger make place. */
static void test_probed_files__room(void **state)
{
	struct probed_files *files = *state;
	uint64_t now = SECOND_NS;

	attach(files, 1, 1000, now);
	for (uint32_t i = 2; i < 10 * ROOM; i++, now++) {
		assert_true(attach(files, i, 1000 + i, now));
		probed_files_left(files, i, now);
	}
	assert_int_equal(n_lines, 0);
	assert_true(attach(files, 1, 1000, now) == SECOND_NS); /* in use all the while */
	for (uint32_t i = 2; i <= ROOM; i++)
		assert_true(attach(files, i, 2000 + i, now));
	assert_int_equal(attach(files, 99, 3000, now), 0); /* all are in use now */
	assert_int_equal(n_lines, 1);
	assert_int_equal(probed_files_refused(files), 1);
	probed_files_left(files, 2, now);
	assert_true(attach(files, 99, 3000, now + PROBED_FILES_RETRY_NS + 1));
}

/* Said once, and tried again after a while. */
static void test_probed_files__refused(void **state)
{
	struct probed_files *files = *state;
	uint64_t now = SECOND_NS;

	error = -EMFILE;
	for (; now < SECOND_NS + 2 * PROBED_FILES_RETRY_NS; now += SECOND_NS / 10)
		assert_int_equal(attach(files, 5, 1, now), 0);
	assert_int_equal(n_lines, 1);
	assert_int_equal(probed_files_refused(files), 1);
	assert_int_equal(n_attempts, 2);
	error = 0;
	assert_true(attach(files, 5, 1, now + PROBED_FILES_RETRY_NS));
}

static void add_pid(void *sum, uint32_t pid)
{
	*(uint32_t *)sum += pid;
}

/* The sum of the processes that are told. */
static uint32_t due(struct probed_files *files, uint64_t now)
{
	uint32_t sum = 0;

	probed_files_due(files, now, add_pid, &sum);
	return sum;
}

/* Nobody may map it anew: those that have it are named, now and then. */
static void test_probed_files__refused_files_are_due(void **state)
{
	struct probed_files *files = *state;
	uint64_t now = 100 * SECOND_NS, then = now + PROBED_FILES_RETRY_NS;

	error = -EMFILE;
	assert_int_equal(attach(files, 5, 1, now), 0);
	assert_int_equal(attach(files, 6, 2, now), 0);
	assert_int_equal(attach(files, 30, 1, now), 0);
	error = 0;
	assert_int_not_equal(attach(files, 7, 3, now), 0);
	assert_int_equal(due(files, then), 0);
	assert_int_equal(due(files, then + 1), 5 + 6 + 30);
	assert_int_equal(due(files, then + 2), 0);
	assert_int_not_equal(attach(files, 5, 1, then + 2), 0);
	probed_files_left(files, 6, then + 2);
	assert_int_equal(due(files, then + 2 * PROBED_FILES_RETRY_NS), 0);
}

/* From the earliest time that was told until it was attached to, though that is told later than it was found. */
static void test_probed_files__lateness(void **state)
{
	struct probed_files *files = *state;
	const uint64_t began_ns = monotonic_ns();
	struct probed_file_at at = { .dev = 1, .inode = 1, .path = "/file", .probes = TAG_FILE_PROBE_CHANGE };
	uint64_t late_ns;

	at.mapped_ns = began_ns - 2;
	at.of_interest = false;
	assert_int_not_equal(probed_files_attach(files, 1, &at, began_ns), 0);
	assert_int_equal(probed_files_late_ns(files), 0);
	at.of_interest = true;
	at.mapped_ns = 0;
	assert_int_not_equal(probed_files_attach(files, 1, &at, began_ns), 0);
	assert_int_equal(probed_files_late_ns(files), 0);
	at.mapped_ns = began_ns - 2;
	assert_int_not_equal(probed_files_attach(files, 1, &at, began_ns), 0);
	late_ns = probed_files_late_ns(files);
	assert_in_range(late_ns, 2, monotonic_ns() - began_ns + 2);
	at.mapped_ns = began_ns - 1; /* another has had it before */
	assert_int_not_equal(probed_files_attach(files, 2, &at, began_ns), 0);
	assert_int_equal(probed_files_late_ns(files), late_ns);
	at.mapped_ns = monotonic_ns(); /* attached to already */
	assert_int_not_equal(probed_files_attach(files, 3, &at, began_ns), 0);
	assert_int_equal(probed_files_late_ns(files), late_ns);
	at.mapped_ns = began_ns - 10;
	assert_int_not_equal(probed_files_attach(files, 4, &at, began_ns), 0);
	assert_int_equal(probed_files_late_ns(files), late_ns + 8);
}

/* What was told while it was refused counts once it no longer is. */
static void test_probed_files__late_after_refusal(void **state)
{
	struct probed_files *files = *state;
	const uint64_t began_ns = monotonic_ns();
	struct probed_file_at at = { .dev = 1,
		                     .inode = 1,
		                     .path = "/file",
		                     .probes = TAG_FILE_PROBE_CHANGE,
		                     .of_interest = true,
		                     .mapped_ns = began_ns - SECOND_NS };

	error = -EMFILE;
	assert_int_equal(probed_files_attach(files, 1, &at, began_ns), 0);
	assert_int_equal(probed_files_late_ns(files), 0);
	error = 0;
	at.mapped_ns = began_ns - 1;
	assert_int_not_equal(probed_files_attach(files, 2, &at, began_ns + PROBED_FILES_RETRY_NS + 1), 0);
	assert_in_range(probed_files_late_ns(files), SECOND_NS, monotonic_ns() - began_ns + SECOND_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_probed_files__last_process, reset, end),
		cmocka_unit_test_setup_teardown(test_probed_files__unseen_end, reset, end),
		cmocka_unit_test_setup_teardown(test_probed_files__go_together, reset, end),
		cmocka_unit_test_setup_teardown(test_probed_files__room, reset, end),
		cmocka_unit_test_setup_teardown(test_probed_files__refused, reset, end),
		cmocka_unit_test_setup_teardown(test_probed_files__refused_files_are_due, reset, end),
		cmocka_unit_test_setup_teardown(test_probed_files__lateness, reset, end),
		cmocka_unit_test_setup_teardown(test_probed_files__late_after_refusal, reset, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
