/* Tests of host_has.h: modules in a folder like /sys. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/tracer/host_has.h"

static char sys[] = "/tmp/stallprof-sys-XXXXXX";

/* Folders and files, in the order in which they are made. */
static const struct {
	const char *path;
	bool folder;
} entries[] = {
	{ "module", true },
	{ "module/builtin", true },
	{ "module/typed", true },
	{ "module/typed/initstate", false },
	{ "module/untyped", true },
	{ "module/untyped/initstate", false },
	{ "kernel", true },
	{ "kernel/btf", true },
	{ "kernel/btf/vmlinux", false },
	{ "kernel/btf/typed", false },
};

#define N_ENTRIES (sizeof(entries) / sizeof(entries[0]))

static int make_folder(void **state)
{
	char path[128];

	(void)state;
	if (!mkdtemp(sys))
		return -1;
	for (size_t i = 0; i < N_ENTRIES; i++) {
		snprintf(path, sizeof(path), "%s/%s", sys, entries[i].path);
		if (entries[i].folder ? mkdir(path, 0755) : close(creat(path, 0644)))
			return -1;
	}
	return 0;
}

static int remove_folder(void **state)
{
	char path[128];

	(void)state;
	for (size_t i = N_ENTRIES; i--;) {
		snprintf(path, sizeof(path), "%s/%s", sys, entries[i].path);
		remove(path);
	}
	return rmdir(sys);
}

static void test_host_has__loaded_module(void **state)
{
	(void)state;
	assert_true(host_loaded_module(sys, "typed"));
	assert_true(host_loaded_module(sys, "untyped"));
	assert_false(host_loaded_module(sys, "builtin"));
	assert_false(host_loaded_module(sys, "absent"));
}

static void test_host_has__module_without_types(void **state)
{
	(void)state;
	assert_true(host_module_lacks_types(sys, "untyped"));
	assert_false(host_module_lacks_types(sys, "typed"));
	assert_false(host_module_lacks_types(sys, "builtin"));
	assert_false(host_module_lacks_types(sys, "absent"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host_has__loaded_module),
		cmocka_unit_test(test_host_has__module_without_types),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
