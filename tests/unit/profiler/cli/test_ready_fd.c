/* Tests of ready_fd.h: the line comes where it can be written, and nobody waits for it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "profiler/cli/ready_fd.h"

static void test_ready_fd__is_for_writing(void **state)
{
	int fd = open("/dev/null", O_RDONLY);

	(void)state;
	assert_true(fd > 0);
	assert_false(ready_fd_take(fd));
	close(fd);
	assert_false(ready_fd_take(fd));
	fd = open("/dev/null", O_WRONLY);
	assert_true(ready_fd_take(fd));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ready_fd_tell(fd);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* Into one that is full: it is closed at once. */
static void test_ready_fd__a_pipe(void **state)
{
	char text[1 << 16];
	int ends[2];

	(void)state;
	for (int full = 0; full < 2; full++) {
		assert_int_equal(pipe(ends), 0);
		memset(text, '.', sizeof(text));
		if (full)
			assert_int_equal(write(ends[1], text, sizeof(text)), sizeof(text));
		alarm(10);
		ready_fd_tell(ends[1]);
		alarm(0);
		if (full)
			assert_int_equal(read(ends[0], text, sizeof(text)), sizeof(text));
		else
			assert_int_equal(read(ends[0], text, sizeof(text)), 6);
		assert_int_equal(memcmp(text, full ? "......" : "ready\n", 6), 0);
		assert_int_equal(read(ends[0], text, sizeof(text)), 0);
		close(ends[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ready_fd__is_for_writing),
		cmocka_unit_test(test_ready_fd__a_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
