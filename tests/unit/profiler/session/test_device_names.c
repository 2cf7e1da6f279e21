/* Tests of device_names.h: names of block devices from sysfs. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/session/device_names.h"

static void test_device_names__from_sysfs(void **state)
{
	char root[] = "/tmp/device-names-XXXXXX", path[128];
	struct device_names *names;

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/dev", root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/dev/block", root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/dev/block/259:3", root);
	assert_int_equal(symlink("../../devices/pci0000:00/nvme/nvme0/nvme0n1", path), 0);
	names = device_names_new(root);
	assert_string_equal(device_names_of(names, 259u << 20 | 3), "nvme0n1");
	assert_int_equal(unlink(path), 0);
	assert_string_equal(device_names_of(names, 259u << 20 | 3), "nvme0n1"); /* remembered */
	assert_string_equal(device_names_of(names, 8u << 20 | 17), "8:17");
	assert_string_equal(device_names_of(names, 0), "");
	device_names_free(names);
	device_names_free(NULL);
	snprintf(path, sizeof(path), "rm -r %s", root);
	assert_int_equal(system(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_device_names__from_sysfs) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
