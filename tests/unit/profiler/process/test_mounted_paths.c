/* Tests of mounted_paths.h with a /proc of their own. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/process/mounted_paths.h"

#define DEV (254u << 20 | 1)

static void mounts(const char *proc, const char *who, const char *lines)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", proc, who);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/mountinfo", proc, who);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(lines, file) >= 0);
	fclose(file);
}

static void expect(struct mounted_paths *paths, uint32_t pid, uint32_t dev, const char *place, int result,
                   const char *path)
{
	char text[64];

	assert_int_equal(mounted_paths_of(paths, pid, dev, place, text, sizeof(text)), result);
	assert_string_equal(text, path);
}

static void test_mounted_paths__places(void **state)
{
	char proc[] = "/tmp/mounted-paths-XXXXXX", command[64];
	struct mounted_paths *paths;

	(void)state;
	assert_non_null(mkdtemp(proc));
	mounts(proc, "self",
	       "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
	       "31 22 254:1 /run/deep /srv rw - ext4 /dev/vda1 rw\n"
	       "30 22 254:1 / /mnt/check\\040points rw shared:1 - ext4 /dev/vda1 rw\n");
	mounts(proc, "7",
	       "30 22 254:1 /run /ck rw - ext4 /dev/vda1 rw\nnonsense\n40 22 254:1 /ru /no rw - x y z\n");
	paths = mounted_paths_new(proc);
	expect(paths, 7, DEV, "run/part-0", 0, "/ck/part-0");
	expect(paths, 7, DEV, "run/a/b", 0, "/ck/a/b");
	expect(paths, 7, DEV, "other/a", 0, "/mnt/check points/other/a"); /* as we see it: they do not */
	expect(paths, 8, DEV, "run/part-0", 0, "/mnt/check points/run/part-0"); /* it has ended */
	expect(paths, 8, DEV, "run/deep/a", 0, "/srv/a");
	expect(paths, 8, DEV, "run/deeper/a", 0, "/mnt/check points/run/deeper/a");
	expect(paths, 8, 254u << 20, "etc/a", 0, "/etc/a");
	expect(paths, 8, 5, "etc/a", -ENOENT, "/etc/a");
	expect(paths, 8, DEV, "0123456789012345678901234567890123456789012345678901234567890123456789",
	       -ENAMETOOLONG, "");
	/* What has changed since is seen a second later. */
	mounts(proc, "7", "30 22 254:1 / /moved rw - ext4 /dev/vda1 rw\n");
	expect(paths, 7, DEV, "run/new/folder/a", 0, "/ck/new/folder/a");
	mounted_paths_free(paths);
	snprintf(command, sizeof(command), "rm -r %s", proc);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_mounted_paths__places) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
