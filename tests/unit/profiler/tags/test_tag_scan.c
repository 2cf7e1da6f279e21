/* Tests of tag_scan.h: process tags found in environments. Pushes tags. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/tags/tag_scan.h"
#include "stalltag/stalltag.h"

struct seen {
	pid_t wanted; /* what is said of other processes does not matter */
	int tagged, processes, own;
	uint64_t id;
	char name[STALLTAG_NAME_MAX + 1];
};

static void on_tagged(void *ctx, pid_t pid, uint64_t id, const char *name)
{
	struct seen *seen = ctx;

	if (pid != seen->wanted)
		return;
	assert_int_equal(seen->processes, 0);
	seen->tagged++;
	seen->id = id;
	snprintf(seen->name, sizeof(seen->name), "%s", name);
}

static void on_process(void *ctx, pid_t pid)
{
	struct seen *seen = ctx;

	seen->processes += pid == seen->wanted;
	seen->own += pid == getpid();
}

static const struct tag_scan_handler handler = { .tagged = on_tagged, .process = on_process };

static int peer; /* what the process reads from and echoes to */

/* A process with that environment, which it has when it echoes: the exec closes files before the kernel has set it. */
static pid_t start(char *const environment[])
{
	static char *const arguments[] = { "cat", NULL };
	int ends[2];
	char byte = 'x';
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (dup2(ends[1], STDIN_FILENO) >= 0 && dup2(ends[1], STDOUT_FILENO) >= 0)
			execve("/bin/cat", arguments, environment);
		_exit(127);
	}
	close(ends[1]);
	assert_int_equal(write(ends[0], &byte, 1), 1);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	peer = ends[0];
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(peer);
}

static struct seen scan_one(char *const environment[])
{
	struct seen seen = { .wanted = start(environment) };

	assert_int_equal(tag_scan_process(seen.wanted, &handler, &seen), 0);
	assert_int_equal(seen.processes, 1);
	stop(seen.wanted);
	return seen;
}

static void test_tag_scan__base_tag(void **state)
{
	char *environment[] = { "PATH=/bin", "STALLPROF_TAG=18446744073709551615 load/run 7", "HOME=/",
		                NULL };
	struct seen seen = scan_one(environment);

	(void)state;
	assert_int_equal(seen.tagged, 1);
	assert_true(seen.id == UINT64_MAX);
	assert_string_equal(seen.name, "load/run 7");
}

static void test_tag_scan__no_tag(void **state)
{
	static char *const cases[][3] = {
		{ "PATH=/bin", NULL },
		{ "XSTALLPROF_TAG=1 a", NULL },
		{ "X=STALLPROF_TAG=1 a", NULL },
		{ "STALLPROF_TAG=", NULL },
		{ "STALLPROF_TAG=a", NULL },
		{ "STALLPROF_TAG=1 ", NULL },
		{ "STALLPROF_TAG=99999999999999999999 a", NULL },
		{ "STALLPROF_TAGS=1 a", NULL },
		{ NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(scan_one(cases[i]).tagged, 0);
}

/* Behind long entries, across the borders of what is read at once, and as the last. */
static void test_tag_scan__large_environment(void **state)
{
	static char filler[120000], other[40000];
	char *environment[] = { filler, other, "STALLPROF_TAG=5 late", NULL };

	(void)state;
	for (size_t len = 32700; len < 32800; len += 9) {
		struct seen seen;

		memset(filler, 'f', sizeof(filler));
		memset(other, 'o', sizeof(other));
		filler[len] = 0;
		other[sizeof(other) - 1] = 0;
		seen = scan_one(environment);
		assert_int_equal(seen.tagged, 1);
		assert_string_equal(seen.name, "late");
	}
}

static void test_tag_scan__longest_name(void **state)
{
	char value[400] = "STALLPROF_TAG=18446744073709551615 ";
	char *environment[] = { value, NULL };
	size_t prefix = strlen(value);
	struct seen seen;

	(void)state;
	memset(value + prefix, 'n', STALLTAG_NAME_MAX);
	seen = scan_one(environment);
	assert_int_equal(seen.tagged, 1);
	assert_int_equal(strlen(seen.name), STALLTAG_NAME_MAX);
	value[prefix + STALLTAG_NAME_MAX] = 'n';
	assert_int_equal(scan_one(environment).tagged, 0);
	/* no part of a value is taken for the whole */
	memset(value + strlen("STALLPROF_TAG="), '0', 200);
	value[strlen("STALLPROF_TAG=") + 200] = ' ';
	assert_int_equal(strlen(value), prefix + STALLTAG_NAME_MAX + 1);
	memset(value + strlen(value), 'n', 60);
	assert_int_equal(scan_one(environment).tagged, 0);
}

static void test_tag_scan__all_processes(void **state)
{
	char *environment[] = { "STALLPROF_TAG=3 here", NULL };
	struct seen seen = { .wanted = start(environment) };

	(void)state;
	assert_int_equal(tag_scan(on_process, &seen), 0);
	assert_int_equal(seen.processes, 1);
	assert_int_equal(seen.own, 0);
	stop(seen.wanted);
}

static void test_tag_scan__gone(void **state)
{
	struct seen seen = { .wanted = fork() };

	(void)state;
	if (!seen.wanted)
		_exit(0);
	waitpid(seen.wanted, NULL, 0);
	assert_int_equal(tag_scan_process(seen.wanted, &handler, &seen), -ESRCH);
	/* A kernel thread, of which others than root may not ask. */
	assert_int_equal(tag_scan_process(2, &handler, &seen), geteuid() ? -EACCES : -ESRCH);
	assert_int_equal(seen.processes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tag_scan__base_tag),
		cmocka_unit_test(test_tag_scan__no_tag),
		cmocka_unit_test(test_tag_scan__large_environment),
		cmocka_unit_test(test_tag_scan__longest_name),
		cmocka_unit_test(test_tag_scan__all_processes),
		cmocka_unit_test(test_tag_scan__gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
