/* Tests of index_dir.h: permissions, the lock, and the bound on size. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "symbolizer/index/index_dir.h"
#include "tests/unit/compile_program.h"

#define FILE_BYTES 65536

static struct index_dir *dir;
static char path[256];

static int open_dir(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s/cache", program_dir);
	return index_dir_open(path, 4 * FILE_BYTES, &dir);
}

static int close_dir(void **state)
{
	(void)state;
	index_dir_close(dir);
	return shell("rm -rf '%s'", path);
}

static void write_file(const char *name)
{
	static char bytes[FILE_BYTES];
	int fd;

	assert_int_equal(index_dir_lock(dir, false), 0);
	fd = index_dir_begin(dir);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(index_dir_end(dir, fd, name, 0), 0);
	index_dir_unlock(dir);
}

static bool is_there(const char *name)
{
	return shell("test -e '%s/%s'", path, name) == 0;
}

static void test_index_dir__made_for_us_alone(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

/* What others could put files into, or lead elsewhere. */
static void test_index_dir__refused(void **state)
{
	static const struct {
		const char *make;
		int err;
	} cases[] = {
		{ "mkdir x && chmod 777 x", -EPERM },
		{ "mkdir x && chmod 770 x", -EPERM },
		{ "mkdir x && chmod 1777 x", -EPERM },
		{ "ln -s cache x", -ENOTDIR },
		{ "touch x", -ENOTDIR },
		{ "mkdir x && chown 1 x", -EPERM },
	};
	struct index_dir *refused = NULL;
	char name[256];
	size_t i;

	(void)state;
	snprintf(name, sizeof(name), "%s/x", program_dir);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (shell("cd '%s' && rm -rf x && %s", program_dir, cases[i].make))
			continue; /* not root: cannot give it away */
		assert_int_equal(index_dir_open(name, 1, &refused), cases[i].err);
		assert_null(refused);
	}
	assert_int_equal(shell("rm -rf '%s'", name), 0);
	assert_int_equal(index_dir_open("/nonexistent/x", 1, &refused), -ENOENT);
}

static void test_index_dir__files_that_are_none_of_ours(void **state)
{
	static const char *const make[] = { "ln -s /etc/passwd bad", "mkfifo bad", "touch bad; chmod 666 bad",
		                            "mkdir bad" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(make) / sizeof(*make); i++) {
		assert_int_equal(shell("cd '%s' && rm -rf bad && %s", path, make[i]), 0);
		assert_int_equal(index_dir_open_file(dir, "bad"), -EBADMSG);
	}
	assert_int_equal(index_dir_open_file(dir, "none"), -ENOENT);
}

static void test_index_dir__lock(void **state)
{
	struct index_dir *other;
	int pipe_fds[2], status;
	pid_t child;
	char byte;

	(void)state;
	assert_int_equal(index_dir_open(path, 1, &other), 0);
	assert_int_equal(index_dir_lock(dir, false), 0);
	assert_int_equal(index_dir_lock(other, false), -EWOULDBLOCK);
	assert_int_equal(index_dir_lock(other, true), -EWOULDBLOCK);
	index_dir_unlock(dir);
	assert_int_equal(index_dir_lock(other, false), 0);
	index_dir_unlock(other);
	/* It goes with whoever holds it; and what that one had begun does not stand in the way. */
	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	if (!child) {
		index_dir_close(other);
		if (index_dir_open(path, 1, &other) || index_dir_lock(other, false) ||
		    index_dir_begin(other) < 0)
			_exit(1);
		_exit(write(pipe_fds[1], "x", 1) != 1 || pause());
	}
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	assert_int_equal(index_dir_lock(dir, false), -EWOULDBLOCK);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	write_file("a.stallsym");
	assert_true(is_there("a.stallsym"));
	assert_false(is_there("new.stallsym"));
	index_dir_close(other);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void test_index_dir__failed_file_goes(void **state)
{
	int fd;

	(void)state;
	write_file("a.stallsym");
	assert_int_equal(index_dir_lock(dir, false), 0);
	fd = index_dir_begin(dir);
	assert_int_equal(index_dir_end(dir, fd, "a.stallsym", -ENOSPC), -ENOSPC);
	index_dir_unlock(dir);
	assert_int_equal(shell("test \"$(ls '%s')\" = a.stallsym && test -s '%s/a.stallsym'", path, path), 0);
}

/* Those used longest ago go, until the rest is within bounds; what is none of ours stays. */
static void test_index_dir__size(void **state)
{
	char name[32];
	int i, fd;

	(void)state;
	for (i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "%c.stallsym", 'a' + i);
		write_file(name);
		assert_int_equal(shell("touch -d '%d hours ago' '%s/%s'", 10 - i, path, name), 0);
	}
	assert_int_equal(shell("head -c 1000000 /dev/zero > '%s/notes.txt'", path), 0);
	fd = index_dir_open_file(dir, "b.stallsym"); /* is used */
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(index_dir_lock(dir, false), 0);
	assert_int_equal(index_dir_trim(dir), 2);
	assert_int_equal(index_dir_trim(dir), 0);
	index_dir_unlock(dir);
	assert_false(is_there("a.stallsym") || is_there("c.stallsym"));
	assert_true(is_there("b.stallsym") && is_there("d.stallsym") && is_there("f.stallsym"));
	assert_true(is_there("notes.txt"));
}

static void test_index_dir__removed(void **state)
{
	(void)state;
	write_file("a.stallsym");
	assert_int_equal(shell("rm -r '%s'", path), 0);
	write_file("b.stallsym");
	assert_true(is_there("b.stallsym") && !is_there("a.stallsym"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_index_dir__made_for_us_alone, open_dir, close_dir),
		cmocka_unit_test_setup_teardown(test_index_dir__refused, open_dir, close_dir),
		cmocka_unit_test_setup_teardown(test_index_dir__files_that_are_none_of_ours, open_dir,
		                                close_dir),
		cmocka_unit_test_setup_teardown(test_index_dir__lock, open_dir, close_dir),
		cmocka_unit_test_setup_teardown(test_index_dir__failed_file_goes, open_dir, close_dir),
		cmocka_unit_test_setup_teardown(test_index_dir__size, open_dir, close_dir),
		cmocka_unit_test_setup_teardown(test_index_dir__removed, open_dir, close_dir),
	};

	return cmocka_run_group_tests(tests, program_dir_make, program_dir_remove);
}
