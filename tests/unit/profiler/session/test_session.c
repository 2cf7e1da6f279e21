/* Tests of session.h: what a session does at a tick, and what it reports of itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/session/asker_process.h"
#include "symbolizer/symbolizer.h"
#include "tests/unit/fake_session.h"

static void test_session__follows_the_tags(void **state)
{
	struct session *session = fake_session_begin();
	struct session_progress progress;

	(void)state;
	assert_false(fake.is_attached);
	fake.tagged = 1;
	assert_int_equal(session_tick(session), 0);
	assert_true(fake.is_attached);
	session_progress(session, &progress);
	assert_true(progress.attached);
	assert_int_equal(progress.attach_count, 1);
	assert_int_equal(progress.tagged, 1);
	fake.tagged = 0;
	session_tick(session);
	assert_true(fake.is_attached); /* for a while */
	session->attachment.wanted_ns -= ATTACHMENT_LINGER_NS + FAKE_SECOND_NS;
	session_tick(session);
	assert_false(fake.is_attached);
	fake_session_end(session);
}

static void test_session__takes_the_ledger_once_a_second(void **state)
{
	struct session *session = fake_session_begin();

	(void)state;
	session->housekeeping_ns -= 2 * FAKE_SECOND_NS;
	session_tick(session);
	assert_int_equal(fake.takes, 0); /* nothing is attached, so there are no rows */
	assert_int_equal(fake.folder_holds, 1);
	fake.tagged = 1;
	session_tick(session);
	assert_int_equal(fake.takes, 0);
	session->housekeeping_ns -= 2 * FAKE_SECOND_NS;
	for (int i = 0; i < 5; i++)
		assert_int_equal(session_tick(session), 0);
	assert_int_equal(fake.takes, 1);
	assert_int_equal(fake.folder_holds, 2);
	assert_int_equal(fake.ledger, 2); /* the first was 1 */
	session->housekeeping_ns -= 2 * FAKE_SECOND_NS;
	session_tick(session);
	assert_int_equal(fake.takes, 2);
	assert_int_equal(fake.ledger, 3);
	fake_session_end(session);
}

static void test_session__an_error_of_the_ledger_is_the_ticks(void **state)
{
	struct session *session = fake_session_begin();

	(void)state;
	fake.tagged = 1;
	session->housekeeping_ns -= 2 * FAKE_SECOND_NS;
	fake.ledger_error = -EIO;
	assert_int_equal(session_tick(session), -EIO);
	fake.poll_result = -ENOMEM;
	assert_int_equal(session_tick(session), -ENOMEM);
	fake_session_end(session);
}

/* Ten times a second while attached, less often while there is nothing to see, at once while there is more to read. */
static void test_session__how_long_to_wait(void **state)
{
	struct session *session = fake_session_begin();
	int idle;

	(void)state;
	session_tick(session);
	idle = fake_session_timeout(session);
	assert_in_range(idle, 20, 99); /* about so late a tag library is met then */
	fake.tagged = 1;
	session_tick(session);
	assert_int_equal(fake_session_timeout(session), 100);
	fake.poll_result = 1;
	session_tick(session);
	assert_int_equal(session_timeout_ms(session), 0);
	fake.poll_result = 0;
	session_tick(session);
	assert_int_equal(fake_session_timeout(session), 100);
	fake_session_end(session);
}

/* All events are asked for each 100 ms; in between those alone that the ring announces. */
static void test_session__does_not_drain_for_each_event(void **state)
{
	struct session *session = fake_session_begin();
	uint64_t before = monotonic_ns();
	unsigned int polls = fake.polls;

	(void)state;
	for (int i = 0; i < 3; i++)
		session_tick(session);
	assert_int_equal(fake.polls - polls, 3);
	assert_in_range(fake.polls_of_all, 1, 1 + (monotonic_ns() - before) / 100000000);
	assert_true(fake.last_poll_until_ns > before);
	session->polled_ns -= 200000000;
	polls = fake.polls_of_all;
	session_tick(session);
	assert_int_equal(fake.polls_of_all, polls + 1);
	fake_session_end(session);
}

static void assert_walked(const struct session *session, uint64_t walked_ns, uint64_t least_ns,
                          uint64_t most_ns)
{
	uint64_t ns, unix_time_ns, age_ns, unix_age_ns;

	fake.walked_ns = walked_ns;
	session_walked(session, &ns, &unix_time_ns);
	assert_in_range(ns, least_ns, most_ns);
	/* Both clocks tell of the same moment. */
	age_ns = monotonic_ns() - ns;
	unix_age_ns = unix_ns() - unix_time_ns;
	assert_in_range(age_ns > unix_age_ns ? age_ns - unix_age_ns : unix_age_ns - age_ns, 0,
	                FAKE_SECOND_NS / 2);
}

/* Time is cut when the walk met the threads, however late we get to look at a clock. */
static void test_session__time_is_cut_by_the_walk(void **state)
{
	struct session *session = fake_session_begin();
	uint64_t now = monotonic_ns(), ago = now - 3 * FAKE_SECOND_NS;

	(void)state;
	assert_walked(session, ago, ago, ago);
	assert_walked(session, 0, now, now + 60 * FAKE_SECOND_NS);
	assert_walked(session, now + 3600 * FAKE_SECOND_NS, now, now + 60 * FAKE_SECOND_NS);
	fake_session_end(session);
}

static void test_session__what_to_wait_for(void **state)
{
	struct session *session = fake_session_begin();
	int fds[SESSION_FDS_MAX], n;

	(void)state;
	fake.fd = 17;
	fake.python_fd = 18;
	n = session_fds(session, fds);
	assert_int_equal(n, 2 + (tag_watch_fd(session->watch) >= 0));
	assert_int_equal(fds[0], 17);
	assert_int_equal(fds[1], 18);
	fake_session_end(session);
}

static void test_session__stacks_that_come_too_fast_raise_t(void **state)
{
	struct session *session = fake_session_begin();
	uint64_t before = fake.threshold_ns[ABI_WAITS_STALL];

	(void)state;
	session->threshold.budgets[ABI_WAITS_STALL].checked_ns -= FAKE_SECOND_NS;
	fake.event_bytes[ABI_WAITS_STALL] = fake_config->sampling.budget_bytes_per_second * 100;
	session_tick(session);
	assert_true(fake.threshold_ns[ABI_WAITS_STALL] > before);
	fake_session_end(session);
}

static void test_session__tags_a_process(void **state)
{
	struct session *session = fake_session_begin();
	char err[256] = "";

	(void)state;
	assert_int_equal(session_tag_process(session, (uint32_t)getpid(), "step", 5, err, sizeof(err)), 0);
	assert_non_null(fake_process(&fake, (uint32_t)getpid()));
	assert_int_equal(fake_process(&fake, (uint32_t)getpid())->base_tag, fake.next_key);
	assert_int_equal(fake_process(&fake, (uint32_t)getpid())->from_exec, 0);
	assert_int_equal(session_tag_command(session, (uint32_t)getpid(), "step", 5, err, sizeof(err)), 0);
	assert_int_not_equal(fake_process(&fake, (uint32_t)getpid())->from_exec, 0);
	fake_session_end(session);
}

static uint64_t cgroup_id = 100;

static int find_cgroup(const char *path, uint64_t *id)
{
	(void)path;
	*id = cgroup_id;
	return 0;
}

/* A folder that looks like a cgroup with one process. */
static void make_group(char *path, pid_t pid)
{
	char file[64];
	FILE *processes;

	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	processes = fopen(file, "w");
	assert_non_null(processes);
	fprintf(processes, "%d\n", pid);
	assert_int_equal(fclose(processes), 0);
}

static void remove_group(const char *path)
{
	char file[64];

	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(path), 0);
}

/* The tracer gets the new id, and who is in the cgroup already is to be looked at. */
static void test_session__a_cgroup_that_is_made_anew(void **state)
{
	struct session *session = fake_session_begin();
	char path[] = "/tmp/stallprof-test-XXXXXX";
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	make_group(path, pid);
	session->cgroup = (struct cgroup_filter){ .id = cgroup_id, .given = path, .find = find_cgroup };
	snprintf(session->cgroup.path, sizeof(session->cgroup.path), "%s", path);
	session->polled_ns = 0;
	session_tick(session);
	assert_int_equal(fake.cgroup, 0);
	cgroup_id++;
	session->polled_ns = 0;
	session_tick(session);
	assert_int_equal(fake.cgroup, cgroup_id);
	assert_true(tag_watch_behind(session->watch));
	fake_session_end(session);
	remove_group(path);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void a_second_later(struct session *session)
{
	session->housekeeping_ns -= 2 * FAKE_SECOND_NS;
	assert_int_equal(session_tick(session), 0);
}

/* As for want of descriptors: it is tried again, for a while. */
static void test_session__outlives_a_walk_that_fails(void **state)
{
	struct session *session = fake_session_begin();
	int takes;

	(void)state;
	fake.tagged = 1;
	a_second_later(session);
	takes = fake.takes;
	fake.walk_error = -EMFILE;
	a_second_later(session);
	a_second_later(session);
	assert_int_equal(fake.takes, takes);
	fake.walk_error = 0;
	a_second_later(session);
	assert_int_equal(fake.takes, takes + 1);
	fake.walk_error = -EMFILE;
	a_second_later(session);
	session->failing_ns -= 31 * FAKE_SECOND_NS;
	session->housekeeping_ns -= 2 * FAKE_SECOND_NS;
	assert_int_equal(session_tick(session), -EMFILE);
	fake.walk_error = 0;
	fake_session_end(session);
}

static size_t open_objects(const struct session *session)
{
	struct symbolizer_stats stats;

	symbolizer_stats(session->symbolizer, &stats);
	return stats.files_cached;
}

/* Else their file systems could not be unmounted. */
static void test_session__closes_files_of_processes_that_have_gone(void **state)
{
	struct session *session = fake_session_begin();
	struct sym_process *self = symbolizer_process(session->symbolizer, (uint32_t)getpid(), 1);
	struct sym_result result;

	(void)state;
	assert_int_equal(symbolizer_process_refresh(self), 0);
	symbolizer_user(self, (uintptr_t)&open_objects, false, &result);
	symbolizer_process_drop(self);
	session_tick(session);
	assert_int_equal(open_objects(session), 1);
	a_second_later(session);
	assert_int_equal(open_objects(session), 0);
	fake_session_end(session);
}

/* Once a second, whether anything is attached or not. */
static void test_session__tells_of_cpus(void **state)
{
	char folder[] = "/tmp/test_session.XXXXXX", command[64];
	struct session *session;

	(void)state;
	assert_non_null(mkdtemp(folder));
	write_file(folder, "possible", "0-4095\n");
	write_file(folder, "online", "0-4095\n"); /* 4095: none that this host has rings for */
	fake_cpu_folder = folder;
	session = fake_session_begin();
	a_second_later(session);
	assert_int_equal(fake.cpus_told, 0);
	write_file(folder, "online", "0-4094\n");
	session_tick(session);
	assert_int_equal(fake.cpus_told, 0);
	a_second_later(session);
	assert_int_equal(fake.cpus_told, 1);
	assert_int_equal(fake.last_cpu, 4095);
	assert_false(fake.last_cpu_online);
	write_file(folder, "online", "0-4095\n");
	a_second_later(session);
	a_second_later(session);
	assert_int_equal(fake.cpus_told, 2);
	assert_true(fake.last_cpu_online);
	fake_session_end(session);
	fake_cpu_folder = NULL;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

static unsigned int asker_ends;

static void count_ends(const char *line)
{
	asker_ends +=
	        strstr(line, "the process that looks at files for their xattr and sha256 has ended") != NULL;
}

/* It is said, once. */
static void test_session__the_end_of_the_process_that_looks_at_files(void **state)
{
	struct session *session = fake_session_begin();
	struct pollfd fd = { .events = POLLIN };

	(void)state;
	session->say = count_ends;
	session->asker = asker_process_new();
	assert_non_null(session->asker);
	session_files_tick(session, monotonic_ns(), true);
	assert_int_equal(asker_ends, 0);
	fd.fd = asker_process_fd(session->asker);
	assert_int_equal(kill((pid_t)asker_process_pid(session->asker), SIGKILL), 0);
	assert_int_equal(poll(&fd, 1, 10000), 1);
	for (int i = 0; i < 3; i++)
		session_files_tick(session, monotonic_ns(), true);
	assert_int_equal(asker_ends, 1);
	fake_session_end(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session__follows_the_tags),
		cmocka_unit_test(test_session__takes_the_ledger_once_a_second),
		cmocka_unit_test(test_session__an_error_of_the_ledger_is_the_ticks),
		cmocka_unit_test(test_session__how_long_to_wait),
		cmocka_unit_test(test_session__does_not_drain_for_each_event),
		cmocka_unit_test(test_session__time_is_cut_by_the_walk),
		cmocka_unit_test(test_session__what_to_wait_for),
		cmocka_unit_test(test_session__stacks_that_come_too_fast_raise_t),
		cmocka_unit_test(test_session__tags_a_process),
		cmocka_unit_test(test_session__a_cgroup_that_is_made_anew),
		cmocka_unit_test(test_session__outlives_a_walk_that_fails),
		cmocka_unit_test(test_session__closes_files_of_processes_that_have_gone),
		cmocka_unit_test(test_session__tells_of_cpus),
		cmocka_unit_test(test_session__the_end_of_the_process_that_looks_at_files),
	};

	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
