/* Tests of device_names.h: names of block devices from sysfs. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/session/device_names.h"

static time_t now_s = 1000;

/* Instead of the C library's, for device_names.c. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ .tv_sec = now_s };
	return 0;
}

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
	names = device_names_new(root, NULL);
	assert_string_equal(device_names_of(names, 259u << 20 | 3, 1), "nvme0n1");
	assert_int_equal(unlink(path), 0);
	assert_string_equal(device_names_of(names, 259u << 20 | 3, 1), "nvme0n1"); /* remembered */
	now_s += 20;
	assert_string_equal(device_names_of(names, 259u << 20 | 3, 1), "nvme0n1"); /* though it is gone */
	/* Its number has been given to another. */
	assert_int_equal(symlink("../../devices/pci0000:00/nvme/nvme1/nvme1n1", path), 0);
	assert_string_equal(device_names_of(names, 259u << 20 | 3, 1), "nvme0n1");
	now_s += 20;
	assert_string_equal(device_names_of(names, 259u << 20 | 3, 1), "nvme1n1");
	assert_string_equal(device_names_of(names, 8u << 20 | 17, 1), "8:17");
	assert_string_equal(device_names_of(names, 0, 1), "");
	device_names_free(names);
	device_names_free(NULL);
	snprintf(path, sizeof(path), "rm -r %s", root);
	assert_int_equal(system(path), 0);
}

static void write_file(const char *root, const char *folder, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, folder);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/mountinfo", root, folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void test_device_names__of_mounts(void **state)
{
	char root[] = "/tmp/device-names-XXXXXX", path[128];
	struct device_names *names;

	(void)state;
	assert_non_null(mkdtemp(root));
	write_file(
	        root, "self",
	        "22 1 254:0 / / rw shared:1 - ext4 /dev/vda1 rw\n"
	        "cut short\n"
	        "40 22 0:45 / /data rw shared:7 master:1 - nfs4 store.example:/ex\\040port/a rw,vers=4.2\n");
	write_file(root, "7", "51 50 0:46 / /mnt rw - nfs4 [fd00::1]:/b rw\n");
	names = device_names_new(root, root);
	assert_string_equal(device_names_of(names, 45, 1), "store.example:/ex port/a");
	assert_string_equal(device_names_of(names, 46, 1), "0:46");         /* seen by others only … */
	assert_string_equal(device_names_of(names, 46, 7), "[fd00::1]:/b"); /* … which are asked then */
	assert_string_equal(device_names_of(names, 46, 1), "[fd00::1]:/b");
	assert_string_equal(device_names_of(names, 47, 7), "0:47");
	device_names_free(names);
	snprintf(path, sizeof(path), "rm -r %s", root);
	assert_int_equal(system(path), 0);
}

/* Its mount cannot be found (umount -l, with files still open): each event of it asks, but who was asked is left alone for a
 * while, and so are all others when many were. */
static void test_device_names__a_mount_that_is_gone(void **state)
{
	char root[] = "/tmp/device-names-XXXXXX", path[128];
	const char *const mount = "51 50 0:46 / /mnt rw - nfs4 store:/b rw\n";
	struct device_names *names;

	(void)state;
	assert_non_null(mkdtemp(root));
	write_file(root, "self", "");
	write_file(root, "7", "");
	write_file(root, "9999", mount);
	names = device_names_new(root, root);
	assert_string_equal(device_names_of(names, 46, 7), "0:46");
	write_file(root, "self", mount);
	write_file(root, "7", mount);
	assert_string_equal(device_names_of(names, 46, 7), "0:46"); /* not looked for again */
	for (uint32_t pid = 100; pid < 1100; pid++)
		assert_string_equal(device_names_of(names, 46, pid), "0:46");
	assert_string_equal(device_names_of(names, 46, 9999), "0:46");
	now_s += 20;
	assert_string_equal(device_names_of(names, 46, 7), "store:/b");
	device_names_free(names);
	snprintf(path, sizeof(path), "rm -r %s", root);
	assert_int_equal(system(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_device_names__from_sysfs),
		cmocka_unit_test(test_device_names__of_mounts),
		cmocka_unit_test(test_device_names__a_mount_that_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
