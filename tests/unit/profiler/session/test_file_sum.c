/* Tests of file_sum.h: the sum is sha256sum's, of the file that is meant, and what was not in memory does not stay there. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "profiler/session/file_sum.h"

#define BYTES (3 * 1048576 + 4711)
#define PAGE  4096
#define ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" /* FIPS 180-2's example */

struct fixture {
	char path[64];
	int fd;
	struct file_identity identity;
};

static void identify(struct fixture *f)
{
	struct stat info;

	assert_int_equal(fstat(f->fd, &info), 0);
	f->identity.number = info.st_ino;
	f->identity.dev = major(info.st_dev) << 20 | minor(info.st_dev);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	snprintf(f->path, sizeof(f->path), "/var/tmp/file-sum-XXXXXX");
	f->fd = mkstemp(f->path);
	assert_true(f->fd >= 0);
	identify(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close(f->fd);
	unlink(f->path);
	free(f);
	return 0;
}

static void fill(const struct fixture *f, size_t size)
{
	unsigned char *bytes = malloc(size);
	uint32_t random = 1;

	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++) {
		random = random * 1664525 + 1013904223;
		bytes[i] = (unsigned char)(random >> 24);
	}
	assert_int_equal(pwrite(f->fd, bytes, size, 0), size);
	free(bytes);
}

static void expect_sha256sum(const struct fixture *f, const char *sum)
{
	char command[96], said[FILE_SUM_TEXT] = "";
	FILE *out;

	snprintf(command, sizeof(command), "sha256sum %s", f->path);
	out = popen(command, "r");
	assert_non_null(out);
	assert_non_null(fgets(said, sizeof(said), out));
	pclose(out);
	assert_string_equal(sum, said);
}

static void test_file_sum__is_sha256sums(void **state)
{
	static const size_t sizes[] = { 1, PAGE, 1048576, BYTES };
	struct fixture *f = *state;
	struct file_sum sum;

	assert_int_equal(file_sum_take(f->path, &f->identity, &sum), FILE_SUM_TAKEN);
	expect_sha256sum(f, sum.sha256); /* it is empty */
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fill(f, sizes[i]);
		assert_int_equal(file_sum_take(f->path, &f->identity, &sum), FILE_SUM_TAKEN);
		expect_sha256sum(f, sum.sha256);
		assert_string_equal(sum.said, "");
	}
}

static void test_file_sum__another_file(void **state)
{
	struct fixture *f = *state;
	struct file_sum sum;

	f->identity.number++;
	assert_int_equal(file_sum_take(f->path, &f->identity, &sum), FILE_SUM_GONE);
	assert_string_equal(sum.sha256, "");
	f->identity.number--;
	f->identity.dev++;
	assert_int_equal(file_sum_take(f->path, &f->identity, &sum), FILE_SUM_GONE);
	assert_int_equal(file_sum_take("/nosuch", &f->identity, &sum), FILE_SUM_GONE);
	assert_int_equal(file_sum_take("/tmp", &f->identity, &sum), FILE_SUM_GONE);
}

/* A user may put a link to /dev in the place of a folder: nothing there may be opened, as that alone starts some devices. A FIFO stands
 * for them here. */
static void test_file_sum__what_is_no_file_is_not_opened(void **state)
{
	struct fixture *f = *state;
	char fifo[96], seen[128], event[4096];
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct file_sum sum;

	snprintf(fifo, sizeof(fifo), "%s.fifo", f->path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_true(inotify_add_watch(watch, fifo, IN_OPEN) >= 0);
	assert_int_equal(file_sum_take(fifo, &f->identity, &sum), FILE_SUM_GONE);
	snprintf(seen, sizeof(seen), "/proc/%d/root%s", getpid(), fifo);
	assert_int_equal(file_sum_take(seen, &f->identity, &sum), FILE_SUM_GONE);
	assert_int_equal(read(watch, event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	close(watch);
	unlink(fifo);
	snprintf(seen, sizeof(seen), "/proc/%d/root%s", getpid(), f->path);
	assert_int_equal(file_sum_take(seen, &f->identity, &sum), FILE_SUM_TAKEN);
}

static void test_file_sum__what_the_xattr_says(void **state)
{
	struct fixture *f = *state;
	struct file_sum sum;

	if (fsetxattr(f->fd, FILE_SUM_XATTR, "sha256:" ABC, 7 + 64, 0)) {
		print_message("not tested: the file system of /var/tmp has no xattrs\n");
		return;
	}
	assert_int_equal(pwrite(f->fd, "abc", 3, 0), 3);
	assert_int_equal(file_sum_take(f->path, &f->identity, &sum), FILE_SUM_TAKEN);
	assert_string_equal(sum.sha256, ABC);
	assert_string_equal(sum.said, ABC);
	assert_int_equal(fsetxattr(f->fd, FILE_SUM_XATTR, "step 7", 6, 0), 0);
	assert_int_equal(file_sum_take(f->path, &f->identity, &sum), FILE_SUM_TAKEN);
	assert_string_equal(sum.said, "");
}

static void test_file_sum__forms(void **state)
{
	static const struct {
		const char *value;
		size_t size;
		bool holds;
	} rows[] = {
		{ ABC, 64, true },
		{ "sha256:" ABC, 71, true },
		{ ABC "\n", 65, true },
		{ ABC, 65, true }, /* with its NUL */
		{ "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD", 64, true },
		{ ABC "0", 65, false },
		{ ABC, 63, false },
		{ "sha512:" ABC, 71, false },
		{ "sha256:", 7, false },
		{ "sha256:" ABC, 70, false },
		{ "ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 64, false },
		{ "", 0, false },
	};
	char sum[FILE_SUM_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(file_sum_parse(rows[i].value, rows[i].size, sum), rows[i].holds);
		assert_string_equal(sum, rows[i].holds ? ABC : "");
	}
}

static size_t in_memory(const struct fixture *f)
{
	unsigned char pages[(BYTES + PAGE - 1) / PAGE];
	void *map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, f->fd, 0);
	size_t n = 0;

	assert_true(map != MAP_FAILED);
	assert_int_equal(mincore(map, BYTES, pages), 0);
	munmap(map, BYTES);
	for (size_t i = 0; i < sizeof(pages); i++)
		n += pages[i] & 1;
	return n;
}

static void test_file_sum__leaves_memory_as_it_was(void **state)
{
	struct fixture *f = *state;
	struct file_sum sum;
	size_t before;
	char byte;

	fill(f, BYTES);
	assert_int_equal(fsync(f->fd), 0);
	before = in_memory(f);
	assert_true(before == (BYTES + PAGE - 1) / PAGE);
	assert_int_equal(file_sum_take(f->path, &f->identity, &sum), FILE_SUM_TAKEN);
	assert_int_equal(in_memory(f), before);
	assert_int_equal(posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	if (in_memory(f)) {
		print_message("not tested: the file system of /var/tmp keeps its files in memory\n");
		return;
	}
	/* Only what somebody else has read stays. */
	assert_int_equal(posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM), 0);
	assert_int_equal(pread(f->fd, &byte, 1, 5 * PAGE), 1);
	before = in_memory(f);
	assert_true(before > 0 && before < 64);
	assert_int_equal(file_sum_take(f->path, &f->identity, &sum), FILE_SUM_TAKEN);
	expect_sha256sum(f, sum.sha256);
	assert_int_equal(posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	assert_int_equal(pread(f->fd, &byte, 1, 5 * PAGE), 1);
	assert_int_equal(file_sum_take(f->path, &f->identity, &sum), FILE_SUM_TAKEN);
	assert_int_equal(in_memory(f), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_file_sum__is_sha256sums, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_sum__another_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_sum__what_is_no_file_is_not_opened, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(test_file_sum__what_the_xattr_says, setup, teardown),
		cmocka_unit_test(test_file_sum__forms),
		cmocka_unit_test_setup_teardown(test_file_sum__leaves_memory_as_it_was, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
