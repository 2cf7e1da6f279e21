/* Tests of loaded_bound.h: how much memory profiles may take. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/loaded/loaded_bound.h"

#define GIB (1ul << 30)

static char root[] = "/tmp/stallprof-bound-XXXXXX";

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

/* With the folders that it is in. */
static void write_file(const char *path, const char *text)
{
	char whole[256];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(!mkdir(whole, 0755) || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(whole, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void test_loaded_bound__a_quarter_of_the_machine(void **state)
{
	(void)state;
	assert_int_equal(loaded_bytes_max(root), LOADED_BYTES_LEAST);
	write_file("/proc/meminfo", "MemTotal:       4194304 kB\nMemFree:         1000 kB\n");
	assert_int_equal(loaded_bytes_max(root), LOADED_BYTES_LEAST);
	write_file("/proc/meminfo", "MemTotal:       67108864 kB\nMemFree:         1000 kB\n");
	assert_int_equal(loaded_bytes_max(root), 16 * GIB);
	assert_true(loaded_bytes_max("") >= 1);
}

/* The lowest limit of a cgroup and those above it; "max" is none. */
static void test_loaded_bound__a_quarter_of_the_cgroup(void **state)
{
	(void)state;
	write_file("/proc/meminfo", "MemTotal:       67108864 kB\n");
	write_file("/proc/self/cgroup", "1:name=systemd:/x\n0::/a/b\n");
	write_file("/sys/fs/cgroup/a/b/memory.max", "max\n");
	assert_int_equal(loaded_bytes_max(root), 16 * GIB);
	write_file("/sys/fs/cgroup/a/memory.max", "2147483648\n");
	assert_int_equal(loaded_bytes_max(root), GIB / 2);
	write_file("/sys/fs/cgroup/a/b/memory.max", "1073741824\n");
	assert_int_equal(loaded_bytes_max(root), GIB / 4);
	/* In a container its own is the root. */
	write_file("/proc/self/cgroup", "0::/\n");
	assert_int_equal(loaded_bytes_max(root), 16 * GIB);
	write_file("/sys/fs/cgroup/memory.max", "17179869184\n");
	assert_int_equal(loaded_bytes_max(root), 4 * GIB);
}

static void test_loaded_bound__no_disk_is_full(void **state)
{
	(void)state;
	assert_non_null(strstr(loaded_reason(ENOSPC), "name fewer files"));
	assert_string_equal(loaded_reason(ENOMEM), strerror(ENOMEM));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loaded_bound__a_quarter_of_the_machine),
		cmocka_unit_test(test_loaded_bound__a_quarter_of_the_cgroup),
		cmocka_unit_test(test_loaded_bound__no_disk_is_full),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
