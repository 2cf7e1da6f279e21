/* Tests of remote_pages.h: what of a process's memory comes from a file. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/process/remote_pages.h"
#include "symbolizer/base/maps.h"

#define PAGE  4096
#define PAGES 6

static struct remote_pages own;

static int begin(void **state)
{
	(void)state;
	own = (struct remote_pages){ .pid = getpid(), .fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC) };
	return own.fd < 0;
}

static int end(void **state)
{
	(void)state;
	return close(own.fd);
}

static int open_file(void)
{
	char path[] = "/tmp/test_remote_pages.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0 && !ftruncate(fd, PAGE));
	unlink(path);
	return fd;
}

/* Pages of anonymous memory, of which the one with this number is the file's, if that is open. */
static char *map(int page, int fd, int flags)
{
	char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(at != MAP_FAILED);
	if (fd >= 0)
		assert_true(mmap(at + page * PAGE, PAGE, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) !=
		            MAP_FAILED);
	return at;
}

static size_t readable(const char *at, size_t bytes)
{
	return remote_pages_readable(&own, (uintptr_t)at, bytes);
}

static size_t there(const char *at, size_t bytes)
{
	return remote_pages_there(getpid(), (uintptr_t)at, bytes);
}

static void test_remote_pages__without_a_file(void **state)
{
	static char data[8] = "static";
	char *at = map(0, -1, 0), *shared, copy[8];

	(void)state;
	memcpy(at + PAGE - 3, "across", 7);
	assert_int_equal(readable(at + PAGE - 3, 7), 7);
	assert_int_equal(remote_pages_read(&own, (uintptr_t)at + PAGE - 3, copy, 7), 0);
	assert_string_equal(copy, "across");
	assert_int_equal(mprotect(at + PAGE, PAGE, PROT_READ), 0); /* two mappings more */
	assert_int_equal(readable(at, PAGES * PAGE), PAGES * PAGE);
	shared = mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(readable(shared, PAGE), PAGE);
	assert_int_equal(readable((char *)&shared, 8), 8); /* the stack */
	assert_int_equal(readable(data, 8), 0);            /* the program's file */
	munmap(shared, PAGE);
	munmap(at, PAGES * PAGE);
}

static void test_remote_pages__memfd(void **state)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	char *at;

	(void)state;
	assert_true(fd >= 0 && !ftruncate(fd, PAGE));
	at = map(2, fd, MAP_SHARED);
	assert_int_equal(readable(at, PAGES * PAGE), PAGES * PAGE);
	munmap(at, PAGES * PAGE);
	close(fd);
}

static bool reads_file(void *ctx, const struct maps_entry *entry)
{
	*(uint64_t *)ctx = entry->start;
	return true;
}

/* As far as the file, in whatever way that is mapped, and no byte of it, but for who says that it can be read. */
static void test_remote_pages__of_a_file(void **state)
{
	int fd = open_file();
	char *at = map(3, fd, MAP_PRIVATE), *shared = map(3, fd, MAP_SHARED), copy[8];
	uint64_t start = 0;
	struct remote_pages files = {
		.pid = getpid(), .fd = own.fd, .reads_file = reads_file, .ctx = &start
	};

	(void)state;
	assert_int_equal(readable(at, PAGES * PAGE), 3 * PAGE);
	assert_int_equal(readable(shared + 8, PAGES * PAGE), 3 * PAGE - 8);
	assert_int_equal(readable(at + 3 * PAGE, 8), 0);
	assert_int_equal(readable(at + 4 * PAGE, 8), 8);
	assert_int_equal(remote_pages_read(&own, (uintptr_t)at + 3 * PAGE - 4, copy, 8), -EIO);
	assert_int_equal(remote_pages_read(&files, (uintptr_t)at + 3 * PAGE - 4, copy, 8), 0);
	assert_true(start == (uintptr_t)at + 3 * PAGE);
	munmap(at, PAGES * PAGE);
	munmap(shared, PAGES * PAGE);
	close(fd);
}

/* What is there needs nobody, also of a file. */
static void test_remote_pages__in_memory(void **state)
{
	size_t many = 100 * PAGE;
	int fd = open_file();
	char *at = map(0, fd, MAP_SHARED), *large;
	volatile char *page = at;

	(void)state;
	assert_int_equal(there(at, PAGES * PAGE), 0);
	assert_int_equal(*page, 0);
	assert_int_equal(there(at, PAGES * PAGE), PAGE);
	assert_int_equal(there(at + 8, 8), 8);
	assert_int_equal(madvise(at, PAGE, MADV_DONTNEED), 0);
	assert_int_equal(there(at + 8, 8), 0);
	munmap(at, PAGES * PAGE);
	close(fd);
	large = mmap(NULL, many + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(large != MAP_FAILED);
	memset(large, 1, many);
	assert_int_equal(there(large + 10, many + 20), many - 10);
	assert_int_equal(there(large, many), many);
	assert_int_equal(there(NULL, 8), 0);
	assert_int_equal(remote_pages_there(getpid(), UINT64_MAX - 4, 8), 0);
	assert_int_equal(remote_pages_there(1 << 30, (uintptr_t)large, 8), 0);
	munmap(large, many + PAGE);
}

static void test_remote_pages__not_mapped(void **state)
{
	char *at = map(0, -1, 0), copy[8];
	pid_t nobody = 1 << 30;

	(void)state;
	munmap(at + 2 * PAGE, PAGE);
	assert_int_equal(readable(at, PAGES * PAGE), 2 * PAGE);
	assert_int_equal(readable(at + 2 * PAGE, 8), 0);
	assert_int_equal(remote_pages_read(&own, (uintptr_t)at + 2 * PAGE, copy, 8), -EIO);
	assert_int_equal(remote_pages_read(&own, UINT64_MAX - 4, copy, 8), -EPROTO);
	assert_int_equal(remote_pages_readable(&own, UINT64_MAX - 4, 8), 0);
	assert_int_equal(remote_pages_readable(&(struct remote_pages){ .pid = nobody }, (uintptr_t)at, 8), 0);
	munmap(at, PAGES * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_remote_pages__without_a_file),
		cmocka_unit_test(test_remote_pages__memfd),
		cmocka_unit_test(test_remote_pages__of_a_file),
		cmocka_unit_test(test_remote_pages__in_memory),
		cmocka_unit_test(test_remote_pages__not_mapped),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
