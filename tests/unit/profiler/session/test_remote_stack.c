/* Tests of remote_stack.h: stacks that are read while their thread sleeps. */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/session/remote_stack.h"

struct sleeper {
	int wake[2];
	volatile pid_t tid;
	const char *volatile mark;
};

static void *sleep_on_pipe(void *arg)
{
	char mark[] = "here is the stack", byte;
	struct sleeper *s = arg;

	s->mark = mark;
	s->tid = syscall(SYS_gettid);
	while (read(s->wake[0], &byte, 1) == 1 && byte != 'q')
		;
	return NULL;
}

static uint64_t switches_of(pid_t tid)
{
	char path[64], line[256];
	unsigned long long n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1)
			break;
	}
	fclose(file);
	return n;
}

static bool sleeps(pid_t tid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
	fclose(file);
	return state == 'S';
}

static void begin_to_sleep(struct sleeper *s, pthread_t *thread)
{
	assert_int_equal(pipe(s->wake), 0);
	assert_int_equal(pthread_create(thread, NULL, sleep_on_pipe, s), 0);
	while (!s->tid || !sleeps(s->tid))
		usleep(1000);
}

static void end_sleep(struct sleeper *s, pthread_t thread)
{
	assert_int_equal(write(s->wake[1], "q", 1), 1);
	pthread_join(thread, NULL);
	close(s->wake[0]);
	close(s->wake[1]);
}

static void test_remote_stack__only_of_the_same_sleep(void **state)
{
	struct sleeper s = { 0 };
	char copy[64] = "";
	pthread_t thread;
	uint64_t switches;

	(void)state;
	begin_to_sleep(&s, &thread);
	switches = switches_of(s.tid);
	assert_int_equal(remote_stack_read(getpid(), s.tid, switches, (uintptr_t)s.mark, copy, sizeof(copy)),
	                 sizeof(copy));
	assert_string_equal(copy, "here is the stack");
	assert_int_equal(write(s.wake[1], "x", 1), 1);
	while (switches_of(s.tid) == switches || !sleeps(s.tid))
		usleep(1000);
	assert_int_equal(remote_stack_read(getpid(), s.tid, switches, (uintptr_t)s.mark, copy, sizeof(copy)),
	                 -EAGAIN);
	end_sleep(&s, thread);
}

/* One that has woken has slept no more often by then. */
static void test_remote_stack__not_of_a_thread_that_runs(void **state)
{
	char mark[] = "a stack", copy[8];

	(void)state;
	assert_int_equal(remote_stack_read(getpid(), getpid(), switches_of(getpid()), (uintptr_t)mark, copy,
	                                   sizeof(copy)),
	                 -EAGAIN);
}

/* What lies behind the mapping's end is not there; what lies before it is. */
static void test_remote_stack__ends_with_the_mapping(void **state)
{
	long page = sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *copy = malloc(4 * page);
	struct sleeper s = { 0 };
	pthread_t thread;

	(void)state;
	assert_true(two != MAP_FAILED);
	assert_int_equal(munmap(two + page, page), 0);
	*two = 1; /* a page that is there */
	begin_to_sleep(&s, &thread);
	assert_int_equal(remote_stack_read(getpid(), s.tid, switches_of(s.tid), (uintptr_t)two + page - 100,
	                                   copy, 4 * page),
	                 100);
	end_sleep(&s, thread);
	assert_int_equal(remote_stack_read(getpid(), getpid(), 0, (uintptr_t)two + page, copy, 8), -EFAULT);
	munmap(two, page);
	free(copy);
}

/* Whose pages may never come. */
static void test_remote_stack__ends_with_a_file(void **state)
{
	long page = sysconf(_SC_PAGESIZE);
	char path[] = "/tmp/test_remote_stack.XXXXXX", copy[200];
	char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = mkstemp(path);

	(void)state;
	unlink(path);
	assert_int_equal(ftruncate(fd, page), 0);
	assert_true(mmap(two + page, page, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED);
	assert_int_equal(remote_stack_pages(getpid(), (uintptr_t)two + page - 100, copy, sizeof(copy)), 100);
	assert_int_equal(remote_stack_pages(getpid(), (uintptr_t)two + page, copy, sizeof(copy)), -EFAULT);
	munmap(two, 2 * page);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_remote_stack__only_of_the_same_sleep),
		cmocka_unit_test(test_remote_stack__not_of_a_thread_that_runs),
		cmocka_unit_test(test_remote_stack__ends_with_the_mapping),
		cmocka_unit_test(test_remote_stack__ends_with_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
