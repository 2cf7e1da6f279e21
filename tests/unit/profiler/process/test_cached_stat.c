/* Tests of cached_stat.h: it says what stat() says. That it does not wait: test_exec_maps.c, beside a file system that hangs. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/process/cached_stat.h"

static void check_same(uint32_t pid, const char *path)
{
	struct statx cached;
	struct stat st;

	assert_int_equal(stat(path, &st), 0); /* so that its name is in memory */
	assert_int_equal(cached_stat(pid, path, &cached), 0);
	assert_true(cached.stx_ino == st.st_ino);
	assert_int_equal(cached.stx_ctime.tv_sec, st.st_ctim.tv_sec);
	assert_int_equal(cached.stx_ctime.tv_nsec, st.st_ctim.tv_nsec);
}

static void test_cached_stat__as_stat(void **state)
{
	(void)state;
	check_same(0, "/bin/true"); /* /bin may be a symbolic link */
	check_same((uint32_t)getpid(), "/bin/true");
	check_same(0, "/");
}

static void test_cached_stat__nothing_there(void **state)
{
	struct statx st;
	int err = cached_stat(0, "/bin/no-such-program", &st);

	(void)state;
	assert_true(err == -ENOENT || err == -EAGAIN);
	assert_int_equal(cached_stat(4194305, "/bin/true", &st), -ENOENT); /* no such process */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cached_stat__as_stat),
		cmocka_unit_test(test_cached_stat__nothing_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
