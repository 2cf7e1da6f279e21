/* Tests of file_xattrs.h, with a file of its own and a tracer that notes what it is told. */

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
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "profiler/process/mounted_paths.h"
#include "profiler/session/file_xattrs.h"
#include "tests/unit/fake_tracer.h"

/* The event of the file at the path, as the kernel's side tells it where the root of the file system is "/". */
static void ask_of(const char *path, struct abi_file_named *named)
{
	const char *end = path + strlen(path), *begin;
	struct stat info;

	*named = (struct abi_file_named){ .event = { .kind = ABI_FILE_ASKED,
		                                     .inode = 4711,
		                                     .generation = 3,
		                                     .tgid = (uint32_t)getpid() } };
	assert_int_equal(stat(path, &info), 0);
	named->event.number = info.st_ino;
	named->event.dev = major(info.st_dev) << 20 | minor(info.st_dev);
	while (end > path) {
		for (begin = end; begin[-1] != '/'; begin--)
			;
		memcpy(named->names + named->event.names_len, begin, (size_t)(end - begin));
		named->event.names_len += (uint32_t)(end - begin) + 1;
		end = begin - 1;
	}
}

/* A /proc in which the file system of that device has its root at "/". */
static void make_proc(char *proc, const char *path)
{
	struct stat info;
	char file[64];
	FILE *out;

	assert_non_null(mkdtemp(proc));
	assert_int_equal(stat(path, &info), 0);
	snprintf(file, sizeof(file), "%s/self", proc);
	assert_int_equal(mkdir(file, 0755), 0);
	snprintf(file, sizeof(file), "%s/self/mountinfo", proc);
	out = fopen(file, "w");
	assert_non_null(out);
	fprintf(out, "1 1 %u:%u / / rw - x y z\n", major(info.st_dev), minor(info.st_dev));
	fclose(out);
}

static void test_file_xattrs__asked(void **state)
{
	char path[] = "/var/tmp/file-xattrs-XXXXXX", proc[] = "/tmp/file-xattrs-XXXXXX", command[64];
	int fd = mkstemp(path);
	struct mounted_paths *paths;
	struct abi_file_named named;
	struct file_xattrs *xattrs;
	struct fake_tracer fake;

	(void)state;
	assert_true(fd >= 0);
	fake_tracer_init(&fake);
	make_proc(proc, path);
	paths = mounted_paths_new(proc);
	xattrs = file_xattrs_new("user.ai.checkpoint", 5, &fake.tracer, paths);
	file_xattrs_tick(xattrs);
	assert_true(fake.xattr_asks > 0);
	ask_of(path, &named);
	assert_false(file_xattrs_asked(xattrs, &named.event));
	assert_int_equal(fake.tagged_inode, 0);
	if (!fsetxattr(fd, "user.ai.checkpoint", "x", 1, 0)) {
		named.event.number++; /* another file has the name */
		assert_false(file_xattrs_asked(xattrs, &named.event));
		named.event.number--;
		assert_true(file_xattrs_asked(xattrs, &named.event));
		assert_int_equal(fake.tagged_inode, 4711);
		assert_int_equal(fake.tagged_file.number, named.event.number);
		assert_int_equal(fake.tagged_file.generation, 3);
		assert_int_equal(fake.tagged_file.folder, ABI_XATTR_FOLDER);
	} else {
		print_message(
		        "the file system of /var/tmp has no xattrs: only the answer \"no\" was tested\n");
	}
	assert_int_equal(file_xattrs_source(xattrs), 5);
	file_xattrs_free(xattrs);
	mounted_paths_free(paths);
	close(fd);
	unlink(path);
	snprintf(command, sizeof(command), "rm -r %s", proc);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_file_xattrs__asked) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
