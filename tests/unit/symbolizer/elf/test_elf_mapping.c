/* Tests of regular_file_keeps_pages() and elf_file.h: which files are mapped, by a type of file system that the test makes up. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "symbolizer/base/file_gate.h"
#include "symbolizer/base/regular_file.h"
#include "symbolizer/elf/elf_file.h"

#define MAX_BYTES ((size_t)64 << 20)

static uint32_t type_told;
static int error_told;

/* Instead of the C library's. */
int fstatfs(int fd, struct statfs *fs)
{
	(void)fd;
	fs->f_type = (__fsword_t)type_told;
	errno = error_told;
	return error_told ? -1 : 0;
}

static bool keeps_pages(int fd, uint32_t type)
{
	type_told = type;
	return regular_file_keeps_pages(fd);
}

/* This program, in a file that is in memory. */
static int own_program(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = memfd_create("program", MFD_CLOEXEC);
	struct stat st;

	assert_int_equal(fstat(from, &st), 0);
	assert_int_equal(sendfile(to, from, NULL, (size_t)st.st_size), st.st_size);
	close(from);
	return to;
}

static void test_elf_mapping__keeps_pages(void **state)
{
	static const uint32_t keeping[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
		                            F2FS_SUPER_MAGIC, 0x2fc12fc1,      SQUASHFS_MAGIC,
		                            TMPFS_MAGIC,      RAMFS_MAGIC };
	/* NFS, SMB, CIFS, SMB 2, FUSE, 9p, AFS, Lustre, Ceph, GPFS, and one that nobody knows. */
	static const uint32_t others[] = { 0x6969,     0x517b,     0xff534d42, 0xfe534d42,
		                           0x65735546, 0x01021997, 0x5346414f, 0x0bd00bd0,
		                           0x00c36400, 0x47504653, 1 };
	int fd = own_program(), exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(keeping) / sizeof(*keeping); i++)
		assert_true(keeps_pages(fd, keeping[i]));
	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(keeps_pages(exe, others[i]));
	/* An overlay, with our program on it and without. */
	assert_true(keeps_pages(exe, OVERLAYFS_SUPER_MAGIC));
	assert_false(keeps_pages(fd, OVERLAYFS_SUPER_MAGIC));
	error_told = EIO;
	assert_false(keeps_pages(fd, EXT4_SUPER_MAGIC));
	error_told = 0;
	close(fd);
	close(exe);
}

static bool answers_not(void *ctx, uint64_t dev, const char *path)
{
	(void)ctx;
	(void)dev;
	(void)path;
	return false;
}

/* Whether it was mapped: its sections are no memory of ours then, and nobody has to be asked. */
static bool is_mapped(uint32_t type, bool trusted)
{
	const struct file_gate gate = { .answers = answers_not };
	struct elf_section section;
	struct elf_file *f;
	bool answers;
	size_t before;

	type_told = type;
	assert_int_equal(elf_file_open(own_program(), trusted, MAX_BYTES, &f), 0);
	assert_int_equal(elf_file_section(f, ".shstrtab", &section), 0);
	before = elf_file_memory(f);
	assert_int_equal(elf_file_section(f, ".text", &section), 0);
	file_gate_set(&gate);
	answers = elf_file_answers(f);
	file_gate_set(NULL);
	assert_int_equal(elf_file_memory(f) - before, answers ? 0 : section.len);
	elf_file_close(f);
	return answers;
}

static void test_elf_mapping__mapped(void **state)
{
	(void)state;
	assert_true(is_mapped(TMPFS_MAGIC, true));
	assert_false(is_mapped(TMPFS_MAGIC, false));
	assert_false(is_mapped(NFS_SUPER_MAGIC, true));
	assert_false(is_mapped(FUSE_SUPER_MAGIC, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elf_mapping__keeps_pages),
		cmocka_unit_test(test_elf_mapping__mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
