/* Tests of exec_maps.h: processes of several threads, whose leader ends before the others, or is replaced by one. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/process/exec_maps.h"
#include "tests/unit/exec_feed.h"

static void *outlive_leader(void *pipe_end)
{
	char byte;

	while (read(*(int *)pipe_end, &byte, 1) > 0)
		;
	_exit(0);
	return NULL;
}

/* The leader has exited, whatever other threads do. */
static void wait_for_zombie(pid_t pid)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	while (state != 'Z') {
		FILE *file = fopen(path, "r");

		assert_non_null(file);
		assert_int_equal(fscanf(file, "%*d %*s %c", &state), 1);
		fclose(file);
		usleep(1000);
	}
}

/* The process lives as long as its last thread. Known from its fork, and (with the feed opened later) not. */
static void check_leader_first(bool known)
{
	static struct seen seen;
	struct exec_maps *maps = known ? open_feed(&seen) : NULL;
	int start[2], end[2];
	pid_t pid;

	assert_true(!pipe2(start, O_CLOEXEC) && !pipe2(end, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		pthread_t thread;
		char byte;

		close(start[1]);
		close(end[1]);
		while (read(start[0], &byte, 1) > 0)
			;
		pthread_create(&thread, NULL, outlive_leader, &end[0]);
		pthread_exit(NULL);
	}
	if (!known)
		maps = open_feed(&seen);
	close(start[1]);
	wait_for_zombie(pid);
	poll_all(maps);
	assert_int_equal(calls(&seen, 'e', (uint32_t)pid, 0), 0);
	close(end[1]);
	waitpid(pid, NULL, 0);
	poll_all(maps);
	assert_int_equal(calls(&seen, 'e', (uint32_t)pid, 0), 1);
	close(start[0]);
	close(end[0]);
	exec_maps_free(maps);
}

static void test_exec_maps_threads__leader_exits_first(void **state)
{
	(void)state;
	check_leader_first(true);
	check_leader_first(false);
}

static void *execute(void *unused)
{
	(void)unused;
	execl("/bin/sleep", "sleep", "60", NULL);
	_exit(127);
	return NULL;
}

static void wait_for_program(pid_t pid, const char *name)
{
	char path[64], text[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	while (strncmp(text, name, strlen(name)) != 0) {
		FILE *file = fopen(path, "r");

		assert_non_null(file);
		assert_non_null(fgets(text, sizeof(text), file));
		fclose(file);
		usleep(1000);
	}
}

/* A thread executes a program: the old leader ends, but that thread is the process from then on. Nobody counted the threads. */
static void test_exec_maps_threads__one_executes(void **state)
{
	static struct seen seen;
	struct exec_maps *maps;
	int start[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(start, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		pthread_t thread;
		char byte;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(start[1]);
		while (read(start[0], &byte, 1) > 0)
			;
		pthread_create(&thread, NULL, execute, NULL);
		pause();
	}
	maps = open_feed(&seen);
	exec_maps_meet(maps, (uint32_t)pid);
	close(start[0]);
	close(start[1]);
	wait_for_program(pid, "sleep");
	poll_all(maps);
	assert_int_equal(calls(&seen, 'x', (uint32_t)pid, 0), 1);
	assert_int_equal(calls(&seen, 'e', (uint32_t)pid, 0), 0);
	assert_int_equal(count_path(maps, (uint32_t)pid, "/usr/bin/sleep") +
	                         count_path(maps, (uint32_t)pid, "/bin/sleep"),
	                 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	poll_all(maps);
	assert_int_equal(calls(&seen, 'e', (uint32_t)pid, 0), 1);
	exec_maps_free(maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exec_maps_threads__leader_exits_first),
		cmocka_unit_test(test_exec_maps_threads__one_executes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
