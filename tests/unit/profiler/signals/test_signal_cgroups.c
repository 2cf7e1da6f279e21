/* Tests of signal_cgroups.h: a host made of files, whose processes are in more cgroups than there are places. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/signals/signal_cgroups.h"
#include "tests/unit/profiler/signals/host_files.h"

static char root[] = "/tmp/stallprof-cgroups-XXXXXX";
static struct signal_cgroups cgroups;

static void put(const char *path, const char *text)
{
	put_host_file(root, path, text);
}

static void put_process(unsigned int pid, const char *cgroup)
{
	char path[64], line[128];

	snprintf(path, sizeof(path), "proc/%u/cgroup", pid);
	snprintf(line, sizeof(line), "0::%s\n", cgroup);
	put(path, line);
}

static void put_cgroup(const char *cgroup)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/fs/cgroup%s/cpu.stat", cgroup);
	put(path, "usage_usec 1\nthrottled_usec 5\n");
}

static int make_host(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_host(void **state)
{
	char command[sizeof(root) + 16];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static int forget(void **state)
{
	(void)state;
	signal_cgroups_close(&cgroups);
	memset(&cgroups, 0, sizeof(cgroups));
	return 0;
}

static bool is_read(const char *cgroup)
{
	for (size_t i = 0; i < cgroups.count; i++)
		if (!strcmp(cgroups.source[i].device, cgroup))
			return true;
	return false;
}

static void look(unsigned int times)
{
	for (unsigned int i = 0; i < times; i++)
		signal_cgroups_look(&cgroups, root);
}

/* Its quota cannot be read, which is not the same as that it has none. */
static void test_signal_cgroups__outside_of_the_namespace(void **state)
{
	(void)state;
	put_process(1, "/../../kubepods.slice/job");
	put_cgroup("/mine");
	signal_cgroups_follow(&cgroups, 1);
	look(1);
	assert_int_equal(cgroups.count, 0);
	assert_true(cgroups.outside);
	put_process(1, "/mine");
	look(1);
	assert_true(is_read("/mine"));
	assert_false(cgroups.outside);
}

/* Its own and those above it, also after it was moved. */
static void test_signal_cgroups__of_a_process(void **state)
{
	(void)state;
	put_cgroup("/a/b");
	put_cgroup("/a");
	put_cgroup("/c");
	put_process(1, "/a/b");
	signal_cgroups_follow(&cgroups, 1);
	look(1);
	assert_int_equal(cgroups.count, 2);
	assert_true(is_read("/a/b") && is_read("/a"));
	put_process(1, "/c");
	look(1);
	assert_true(is_read("/c"));
	look(SIGNAL_CGROUP_TURNS + 1);
	assert_int_equal(cgroups.count, 1); /* nobody is in the others any more */
	assert_true(is_read("/c"));
	assert_false(cgroups.refused);
}

/* As Kubernetes makes them: of eight pods with a container each none is left out. */
static void test_signal_cgroups__pods(void **state)
{
	char cgroup[64];

	(void)state;
	put_cgroup("/kubepods");
	put_cgroup("/kubepods/burstable");
	for (unsigned int i = 0; i < 8; i++) {
		snprintf(cgroup, sizeof(cgroup), "/kubepods/burstable/pod%u", i);
		put_cgroup(cgroup);
		snprintf(cgroup, sizeof(cgroup), "/kubepods/burstable/pod%u/container", i);
		put_cgroup(cgroup);
		put_process(100 + i, cgroup);
		signal_cgroups_follow(&cgroups, 100 + i);
	}
	look(1);
	assert_false(cgroups.refused);
	assert_int_equal(cgroups.count, 18);
	assert_true(is_read("/kubepods/burstable/pod7"));
}

#define DEPTH (SIGNAL_CGROUPS_MAX / 8)

/* Makes DEPTH of them, one in the other; the innermost is the process's. */
static void put_nested(unsigned int pid, char *cgroup, size_t size)
{
	size_t length = (size_t)snprintf(cgroup, size, "/old%u", pid);

	put_cgroup(cgroup);
	for (unsigned int depth = 1; depth < DEPTH; depth++) {
		length += (size_t)snprintf(cgroup + length, size - length, "/%u", depth);
		put_cgroup(cgroup);
	}
	put_process(pid, cgroup);
}

/* Those of eight processes that live for long fill all places; the job's own gets one when nobody who runs is in one of them. */
static void test_signal_cgroups__more_than_places(void **state)
{
	char cgroup[64];

	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		put_nested(100 + i, cgroup, sizeof(cgroup));
		signal_cgroups_follow(&cgroups, 100 + i);
	}
	look(1);
	assert_int_equal(cgroups.count, SIGNAL_CGROUPS_MAX);
	assert_false(cgroups.refused);
	put_cgroup("/job");
	put_process(200, "/job");
	signal_cgroups_follow(&cgroups, 200);
	look(SIGNAL_CGROUP_TURNS + 1);
	assert_false(is_read("/job"));
	assert_true(cgroups.refused);
	/* Others run now: those from before are not among the latest any more. */
	for (unsigned int i = 0; i < SIGNAL_PIDS_MAX - 1; i++) {
		put_process(300 + i, "/job");
		signal_cgroups_follow(&cgroups, 300 + i);
	}
	look(SIGNAL_CGROUP_TURNS + 2);
	assert_true(is_read("/job"));
	assert_int_equal(cgroups.count, 1);
	assert_false(cgroups.refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_signal_cgroups__of_a_process, forget),
		cmocka_unit_test_teardown(test_signal_cgroups__outside_of_the_namespace, forget),
		cmocka_unit_test_teardown(test_signal_cgroups__pods, forget),
		cmocka_unit_test_teardown(test_signal_cgroups__more_than_places, forget),
	};

	return cmocka_run_group_tests(tests, make_host, remove_host);
}
