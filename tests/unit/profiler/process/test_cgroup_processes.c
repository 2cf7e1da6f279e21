/* Tests of cgroup_processes.h, with folders that look like a cgroup's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/process/cgroup_processes.h"

#define FOUND_MAX 16

static struct {
	pid_t pids[FOUND_MAX];
	size_t n;
} found;

static void on_process(void *ctx, pid_t pid)
{
	assert_ptr_equal(ctx, &found);
	assert_true(found.n < FOUND_MAX);
	found.pids[found.n++] = pid;
}

static void add_group(const char *folder, const char *pids)
{
	char path[256];
	FILE *file;

	assert_true(!mkdir(folder, 0755) || !access(folder, F_OK));
	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(pids, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static bool is_found(pid_t pid)
{
	for (size_t i = 0; i < found.n; i++) {
		if (found.pids[i] == pid)
			return true;
	}
	return false;
}

static void remove_group(const char *folder)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

/* Those of a foreign PID namespace are 0 in it. */
static void test_cgroup_processes__all_below(void **state)
{
	char root[] = "/tmp/stallprof-test-XXXXXX", below[64], deeper[64], beside[64];

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(below, sizeof(below), "%s/a", root);
	snprintf(deeper, sizeof(deeper), "%s/a/b", root);
	snprintf(beside, sizeof(beside), "%s/c", root);
	add_group(root, "1\n22\n");
	add_group(below, "");
	add_group(deeper, "0\n333\n");
	add_group(beside, "4444\n");
	cgroup_processes(root, on_process, &found);
	assert_int_equal(found.n, 4);
	assert_true(is_found(1) && is_found(22) && is_found(333) && is_found(4444));
	found.n = 0;
	cgroup_processes(below, on_process, &found);
	assert_int_equal(found.n, 1);
	assert_true(is_found(333));
	remove_group(deeper);
	remove_group(below);
	remove_group(beside);
	remove_group(root);
	found.n = 0;
	cgroup_processes(root, on_process, &found);
	assert_int_equal(found.n, 0); /* it is gone */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cgroup_processes__all_below),
	};

	return cmocka_run_group_tests_name("cgroup_processes", tests, NULL, NULL);
}
