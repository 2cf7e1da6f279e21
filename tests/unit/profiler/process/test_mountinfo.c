/* Tests of mountinfo.h with a /proc of their own. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/process/mountinfo.h"

struct seen {
	char text[1024];
	unsigned int stop_after;
};

static bool on_mount(void *ctx, const struct mountinfo_entry *mount)
{
	struct seen *seen = ctx;
	size_t n = strlen(seen->text);

	snprintf(seen->text + n, sizeof(seen->text) - n, "%u:%u|%s|%s|%s|%s\n", mount->major, mount->minor,
	         mount->root, mount->point, mount->type, mount->source);
	return !--seen->stop_after;
}

static void write_mounts(const char *proc, const char *lines)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/7", proc);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/7/mountinfo", proc);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(lines, file) >= 0);
	fclose(file);
}

static void test_mountinfo__lines(void **state)
{
	char proc[] = "/tmp/mountinfo-XXXXXX", command[64];
	struct seen seen = { .stop_after = 100 };

	(void)state;
	assert_non_null(mkdtemp(proc));
	write_mounts(proc, "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
	                   "nonsense\n\n"
	                   "23 22 0:40 / /no\\040type rw - nfs4\n"
	                   "24 22 0:41 /a\\134b /mnt/two\\040words rw shared:1 master:2 - nfs4 "
	                   "host:/ex\\011port rw,vers=4.2\n"
	                   "25 22 0:42 / /last ro - fuse.sshfs me@host:/");
	assert_false(mountinfo_each(proc, "7", on_mount, &seen));
	assert_string_equal(seen.text, "254:0|/|/|ext4|/dev/vda\n"
	                               "0:41|/a\\b|/mnt/two words|nfs4|host:/ex\tport\n"
	                               "0:42|/|/last|fuse.sshfs|me@host:/\n");
	seen = (struct seen){ .stop_after = 1 };
	assert_true(mountinfo_each(proc, "7", on_mount, &seen));
	assert_string_equal(seen.text, "254:0|/|/|ext4|/dev/vda\n");
	assert_false(mountinfo_each(proc, "8", on_mount, &seen));
	snprintf(command, sizeof(command), "rm -r %s", proc);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mountinfo__lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
