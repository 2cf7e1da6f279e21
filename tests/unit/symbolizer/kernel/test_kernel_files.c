/* Tests of kernel_files.h: where vmlinux and modules are found. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "symbolizer/kernel/kernel_files.h"
#include "tests/unit/compile_program.h"

#define RELEASE "6.1.0-test"
#define ID      "aa11223344556677889900112233445566778899"
#define OTHER   "bb11223344556677889900112233445566778899"

/* A folder of its own for each case: root/ is "", debug/ is /usr/lib/debug and fetched/ another like it. */
static struct kernel_files *open_files(void)
{
	char debug_dir[128], root[128], fetched_dir[128];
	struct kernel_files_opts opts = { .debug_dir = debug_dir,
		                          .fetched_dir = fetched_dir,
		                          .root = root,
		                          .release = RELEASE,
		                          .max_bytes = 1 << 24 };

	snprintf(debug_dir, sizeof(debug_dir), "%s/t/debug", program_dir);
	snprintf(fetched_dir, sizeof(fetched_dir), "%s/t/fetched", program_dir);
	snprintf(root, sizeof(root), "%s/t/root", program_dir);
	return kernel_files_new(&opts);
}

/* Puts the file there, packed as its name says. */
static void put(const char *file, const char *path)
{
	const char *pack = strstr(path, ".xz")    ? "xz -c --check=crc32"
	                   : strstr(path, ".zst") ? "zstd -qc"
	                   : strstr(path, ".gz")  ? "gzip -c"
	                                          : "cat";

	assert_int_equal(shell("cd '%s' && rm -rf t && mkdir -p \"$(dirname t/%s)\" && %s %s > t/%s",
	                       program_dir, path, pack, file, path),
	                 0);
}

static int find_vmlinux(const char *build_id)
{
	struct kernel_files *k = open_files();
	struct elf_file *f = NULL;
	const char *path;
	int err = kernel_files_vmlinux(k, build_id, &f, &path);

	elf_file_close(f);
	kernel_files_free(k);
	return err;
}

static int find_module(const char *name, const char *build_id)
{
	struct kernel_files *k = open_files();
	struct elf_file *f = NULL;
	const char *path;
	int err = kernel_files_module(k, name, build_id, &f, &path);

	elf_file_close(f);
	kernel_files_free(k);
	return err;
}

static void test_kernel_files__vmlinux(void **state)
{
	static const char *const layouts[] = {
		"debug/boot/vmlinux-" RELEASE,                     /* Debian, Ubuntu */
		"debug/lib/modules/" RELEASE "/vmlinux",           /* Fedora, Red Hat */
		"debug/boot/vmlinux-" RELEASE ".debug",            /* SUSE, before */
		"debug/usr/lib/modules/" RELEASE "/vmlinux.debug", /* SUSE */
		"debug/.build-id/aa/11223344556677889900112233445566778899.debug",
		"fetched/.build-id/aa/11223344556677889900112233445566778899.debug",
		"root/boot/vmlinux-" RELEASE,                 /* one's own */
		"root/lib/modules/" RELEASE "/build/vmlinux", /* the same */
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		put("good", layouts[i]);
		assert_int_equal(find_vmlinux(ID), 0);
		assert_int_equal(find_vmlinux(OTHER), -ENOENT);
		if (!strstr(layouts[i], ".build-id"))
			assert_int_equal(find_vmlinux(""), 0);
		put("stripped", layouts[i]);
		assert_int_equal(find_vmlinux(ID), -ENOENT);
	}
}

static void test_kernel_files__modules(void **state)
{
	static const char *const layouts[] = {
		"debug/lib/modules/" RELEASE "/kernel/fs/ext4/foo-bar.ko",           /* Debian, Ubuntu */
		"debug/lib/modules/" RELEASE "/kernel/fs/ext4/foo_bar.ko.debug",     /* Fedora, Red Hat */
		"debug/usr/lib/modules/" RELEASE "/kernel/fs/ext4/foo_bar.ko.debug", /* SUSE */
		"debug/.build-id/aa/11223344556677889900112233445566778899.debug",
		"fetched/.build-id/aa/11223344556677889900112233445566778899.debug",
		"root/lib/modules/" RELEASE "/kernel/fs/foo_bar.ko",
		"root/lib/modules/" RELEASE "/updates/dkms/foo-bar.ko.xz",
		"root/lib/modules/" RELEASE "/extra/foo_bar.ko.zst",
		"root/lib/modules/" RELEASE "/extra/foo_bar.ko.gz",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		put("good", layouts[i]);
		assert_int_equal(find_module("foo_bar", ID), 0);
		assert_int_equal(find_module("foo_bar", OTHER), -ENOENT);
		assert_int_equal(find_module("foo", ""), -ENOENT);
		put("stripped", layouts[i]);
		assert_int_equal(find_module("foo_bar", ID), -ENOENT);
	}
}

static int make_files(void **state)
{
	if (program_dir_make(state))
		return -1;
	return shell("cd '%s' && echo 'int f(void) { return 1; }' > x.c && cc -g -shared -fPIC "
	             "-Wl,--build-id=0x" ID " -o good x.c && strip -g -o stripped good",
	             program_dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_files__vmlinux),
		cmocka_unit_test(test_kernel_files__modules),
	};

	return cmocka_run_group_tests(tests, make_files, program_dir_remove);
}
