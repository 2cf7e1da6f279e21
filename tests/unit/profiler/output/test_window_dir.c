/* Tests of window_dir.h: names of files, which are removed, and a full disk. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profiler/output/window_dir.h"

static char dir[64];

static int enter_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/stallprof-folder-XXXXXX");
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int leave_dir(void **state)
{
	(void)state;
	return chdir("/") == 0 && nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0 ? 0 : -1;
}

static void make_file(const char *name, size_t bytes)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	for (size_t i = 0; i < bytes; i++)
		fputc('x', file);
	assert_int_equal(fclose(file), 0);
}

static int lies_there(const char *name)
{
	return access(name, F_OK) == 0;
}

static struct window_dir_file last;

/* Writes a window of 100 bytes that began at that time, in milliseconds, into `folder`. */
static int write_to(struct window_dir *folder, int64_t time_ms)
{
	static const char bytes[100];

	return window_dir_write(folder, time_ms * 1000000 + 456789, bytes, sizeof(bytes), &last);
}

static int write_window(const char *folder, uint64_t max_bytes, int64_t time_ms)
{
	struct window_dir *windows = window_dir_new(folder, max_bytes);
	int err = write_to(windows, time_ms);

	window_dir_free(windows);
	return err;
}

static void test_window_dir__a_name_that_is_taken_is_left(void **state)
{
	char path[PATH_MAX + 64];

	(void)state;
	assert_int_equal(write_window(".", 0, 1700000000123), 0);
	assert_string_equal(last.path, "./stallprof-1700000000123.pb.gz");
	assert_int_equal(symlink("nowhere", "stallprof-1700000000123-1.pb.gz"), 0);
	assert_int_equal(write_window(".", 0, 1700000000123), 0);
	assert_string_equal(last.path, "./stallprof-1700000000123-2.pb.gz");
	assert_true(lies_there("stallprof-1700000000123-2.pb.gz"));
	memset(path, '/', sizeof(path));
	path[sizeof(path) - 10] = '\0';
	assert_int_equal(write_window(path, 0, 1700000000123), -ENAMETOOLONG);
}

/* Ranks of one job, or hosts that share a folder, may begin windows in the same millisecond, and end them together. */
static void test_window_dir__several_write_at_once(void **state)
{
	int status;
	glob_t found;

	(void)state;
	for (int child = 0; child < 8; child++) {
		if (fork())
			continue;
		for (int i = 0; i < 20; i++)
			if (write_window(".", 0, 1700000000123))
				_exit(1);
		_exit(0);
	}
	for (int child = 0; child < 8; child++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(glob("stallprof-*", 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 8 * 20);
	globfree(&found);
}

/* It is not that the name is taken. */
static void test_window_dir__a_folder_that_cannot_be_looked_into_is_told(void **state)
{
	(void)state;
	make_file("file", 1);
	assert_int_equal(write_window("file", 0, 1700000000123), -ENOTDIR);
	assert_string_equal(last.err, "cannot name a file for the window: Not a directory");
	assert_int_equal(write_window("nowhere/near", 0, 1700000000123), -ENOENT);
}

static void test_window_dir__a_folder_that_was_removed_is_made_again(void **state)
{
	(void)state;
	assert_int_equal(mkdir("removed", 0700), 0);
	assert_int_equal(rmdir("removed"), 0);
	assert_int_equal(write_window("removed", 0, 1700000000123), 0);
	assert_true(lies_there("removed/stallprof-1700000000123.pb.gz"));
	assert_string_equal(last.path, "removed/stallprof-1700000000123.pb.gz");
}

static void test_window_dir__trim_takes_the_oldest(void **state)
{
	(void)state;
	make_file("stallprof-999.pb.gz", 100); /* shorter, and the oldest */
	make_file("stallprof-1000.pb.gz", 100);
	make_file("stallprof-1000-2.pb.gz", 100);
	make_file("stallprof-1000-10.pb.gz", 100);
	write_window(".", 0, 1001);
	assert_true(lies_there("stallprof-999.pb.gz"));
	write_window(".", 540, 1002);
	assert_false(lies_there("stallprof-999.pb.gz"));
	assert_true(lies_there("stallprof-1000.pb.gz"));
	write_window(".", 430, 1003);
	assert_false(lies_there("stallprof-1000-2.pb.gz"));
	assert_true(lies_there("stallprof-1000-10.pb.gz"));
	write_window(".", 1, 1004);
	assert_false(lies_there("stallprof-1000-10.pb.gz") || lies_there("stallprof-1003.pb.gz"));
	assert_true(lies_there("stallprof-1004.pb.gz"));
	assert_int_equal(last.made_room, 0);
}

/* The clock was set back. */
static void test_window_dir__trim_leaves_what_was_just_written(void **state)
{
	(void)state;
	make_file("stallprof-999.pb.gz", 100);
	make_file("stallprof-1001.pb.gz", 100);
	make_file("stallprof-99000000000000.pb.gz", 100); /* of the year 5107 */
	make_file("stallprof-99000000000001.pb.gz", 100);
	write_window(".", 430, 1000);
	assert_false(lies_there("stallprof-99000000000000.pb.gz"));
	assert_true(lies_there("stallprof-99000000000001.pb.gz"));
	write_window(".", 430, 1000);
	assert_false(lies_there("stallprof-99000000000001.pb.gz"));
	assert_true(lies_there("stallprof-999.pb.gz"));
	write_window(".", 1, 998);
	assert_false(lies_there("stallprof-999.pb.gz") || lies_there("stallprof-1001.pb.gz"));
	assert_true(lies_there("stallprof-998.pb.gz"));
}

static uint64_t later_ns; /* than it is */

int clock_gettime(clockid_t clock, struct timespec *now);

/* In place of libc's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	now->tv_sec += (time_t)(later_ns / 1000000000);
	return result;
}

/* Files that others have put there show when the folder is listed, as the oldest of them are removed then. */
static void test_window_dir__the_folder_is_listed_seldom(void **state)
{
	struct window_dir *windows = window_dir_new(".", 540);

	(void)state;
	make_file("stallprof-1000.pb.gz", 450);
	write_to(windows, 2000);
	assert_false(lies_there("stallprof-1000.pb.gz")); /* the first time */
	make_file("stallprof-1001.pb.gz", 450);
	for (int i = 1; i < 5; i++)
		write_to(windows, 2000 + i);
	assert_true(lies_there("stallprof-1001.pb.gz"));
	write_to(windows, 2005); /* what we wrote is too much by itself */
	assert_false(lies_there("stallprof-1001.pb.gz"));
	assert_false(lies_there("stallprof-2000.pb.gz"));
	assert_true(lies_there("stallprof-2001.pb.gz"));
	window_dir_free(windows);
}

/* Nor for each window once it is full. */
static void test_window_dir__trim_makes_room_for_more(void **state)
{
	struct window_dir *windows = window_dir_new(".", 3200);
	char name[64];

	(void)state;
	for (int i = 0; i < 32; i++) {
		snprintf(name, sizeof(name), "stallprof-%d.pb.gz", 1000 + i);
		make_file(name, 100);
	}
	write_to(windows, 2000); /* 3300 bytes, of which 3000 stay */
	assert_false(lies_there("stallprof-1002.pb.gz"));
	assert_true(lies_there("stallprof-1003.pb.gz"));
	make_file("stallprof-999.pb.gz", 1);
	write_to(windows, 2001);
	write_to(windows, 2002);
	assert_true(lies_there("stallprof-999.pb.gz"));
	write_to(windows, 2003);
	assert_false(lies_there("stallprof-999.pb.gz"));
	window_dir_free(windows);
}

static void test_window_dir__the_folder_is_listed_now_and_then(void **state)
{
	struct window_dir *windows = window_dir_new(".", 500);

	(void)state;
	write_to(windows, 2000);
	make_file("stallprof-1000.pb.gz", 450);
	later_ns = WINDOW_DIR_LIST_NS - 10 * 1000000000ULL;
	write_to(windows, 2001);
	assert_true(lies_there("stallprof-1000.pb.gz"));
	later_ns += 10 * 1000000000ULL;
	write_to(windows, 2002);
	assert_false(lies_there("stallprof-1000.pb.gz"));
	assert_true(lies_there("stallprof-2000.pb.gz"));
	later_ns = 0;
	window_dir_free(windows);
}

static const char *const of_others[] = { "stallprof-00backup.tar",    "stallprof-1.pb.gz.bak",
	                                 "stallprof-.pb.gz",          "stallprof-1.pb",
	                                 "stallprof--1.pb.gz",        "stallprof-1-.pb.gz",
	                                 "my-stallprof-1.pb.gz",      "stallprof- 1.pb.gz",
	                                 "stallprof-+1.pb.gz",        "stallprof-1.pb.gz.1.tmp",
	                                 "stallprof-1.pb.gz.0-1.tmp", "stallprof-x.pb.gz.1-1.tmp" };

static void test_window_dir__files_of_others_stay(void **state)
{
	size_t n = sizeof(of_others) / sizeof(of_others[0]);

	(void)state;
	for (size_t i = 0; i < n; i++)
		make_file(of_others[i], 1000);
	assert_int_equal(mkdir("stallprof-2.pb.gz", 0700), 0);
	write_window(".", 1, 3);
	window_dir_clean(".");
	for (size_t i = 0; i < n; i++)
		if (!lies_there(of_others[i]))
			fail_msg("%s is gone", of_others[i]);
	assert_true(lies_there("stallprof-2.pb.gz"));
	assert_true(lies_there("stallprof-3.pb.gz"));
}

static void test_window_dir__half_written_files_of_the_dead_go(void **state)
{
	char dead[64], numbered[64], living[64];
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	snprintf(dead, sizeof(dead), "stallprof-1.pb.gz.%d-0.tmp", (int)pid);
	snprintf(numbered, sizeof(numbered), "stallprof-1-2.pb.gz.%d-0.tmp", (int)pid);
	snprintf(living, sizeof(living), "stallprof-1.pb.gz.%d-0.tmp", (int)getpid());
	make_file(dead, 1);
	make_file(numbered, 1);
	make_file(living, 1);
	window_dir_clean(".");
	assert_false(lies_there(dead));
	assert_false(lies_there(numbered));
	assert_true(lies_there(living));
}

/* --- a full disk ------------------------------------------------------------------------------------------ */

#define OLD_BYTES 10000

/* So much may lie in the folder; 0: as much as one likes. */
static size_t disk_bytes;
static int disk_error = ENOSPC;

int fsync(int fd);

/* In place of libc's: where blocks are given to a file late, as on ext4 and XFS, this is where it is told. */
int fsync(int fd)
{
	struct stat st;
	size_t sum = 0;
	glob_t found;

	(void)fd;
	if (disk_bytes && !glob("*", 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			sum += stat(found.gl_pathv[i], &st) ? 0 : (size_t)st.st_size;
		globfree(&found);
	}
	if (!disk_bytes || sum <= disk_bytes)
		return 0;
	errno = disk_error;
	return -1;
}

static size_t windows_there(void)
{
	size_t n = 0;
	glob_t found;

	if (!glob("stallprof-*.pb.gz", 0, NULL, &found)) {
		n = found.gl_pathc;
		globfree(&found);
	}
	return n;
}

/* Windows at 1000, 1001 and so on, which fill the disk but for `free_bytes`. */
static void fill_disk(size_t n, size_t free_bytes)
{
	char name[64];

	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "stallprof-%zu.pb.gz", 1000 + i);
		make_file(name, OLD_BYTES);
	}
	disk_bytes = n * OLD_BYTES + free_bytes;
}

static int empty_disk(void **state)
{
	disk_bytes = 0;
	disk_error = ENOSPC;
	return leave_dir(state);
}

/* As many as have room for it: two of these. */
static void test_window_dir__the_oldest_make_room_on_a_full_disk(void **state)
{
	struct window_dir *windows = window_dir_new(".", 1 << 30);

	(void)state;
	fill_disk(WINDOW_DIR_LEAST + 10, 0);
	assert_int_equal(write_to(windows, 5000), 0);
	assert_int_equal(last.made_room, 2);
	assert_false(lies_there("stallprof-1001.pb.gz"));
	assert_true(lies_there("stallprof-1002.pb.gz") && lies_there("stallprof-5000.pb.gz"));
	assert_int_equal(write_to(windows, 5001), 0);
	assert_int_equal(last.made_room, 0);
	disk_error = EDQUOT;
	disk_bytes -= 2 * OLD_BYTES;
	assert_int_equal(write_to(windows, 5002), 0);
	assert_int_equal(last.made_room, 2);
	window_dir_free(windows);
}

static void test_window_dir__few_windows_stay_on_a_full_disk(void **state)
{
	(void)state;
	fill_disk(WINDOW_DIR_LEAST + 1, 0);
	assert_int_equal(write_window(".", 1 << 30, 5000), -ENOSPC);
	assert_int_equal(last.made_room, 0);
	assert_non_null(strstr(last.err, "No space left on device"));
	assert_int_equal(windows_there(), WINDOW_DIR_LEAST + 1);
}

/* Without a limit nothing is removed, nor when the disk fails in another way. */
static void test_window_dir__all_stay_unless_the_disk_is_full(void **state)
{
	(void)state;
	fill_disk(WINDOW_DIR_LEAST + 10, 0);
	assert_int_equal(write_window(".", 0, 5000), -ENOSPC);
	assert_int_equal(windows_there(), WINDOW_DIR_LEAST + 10);
	disk_error = EIO;
	assert_int_equal(write_window(".", 1 << 30, 5000), -EIO);
	assert_int_equal(windows_there(), WINDOW_DIR_LEAST + 10);
}

/* Whoever fills the disk takes what is removed, too. */
static void test_window_dir__room_is_made_in_vain_once(void **state)
{
	struct window_dir *windows = window_dir_new(".", 1 << 30);

	(void)state;
	fill_disk(WINDOW_DIR_LEAST + 10, 0);
	disk_bytes = 1;
	assert_int_equal(write_to(windows, 5000), -ENOSPC);
	assert_int_equal(last.made_room, 2);
	assert_int_equal(write_to(windows, 5001), -ENOSPC);
	assert_int_equal(last.made_room, 0);
	disk_bytes = 0;
	assert_int_equal(write_to(windows, 5002), 0);
	disk_bytes = 1;
	assert_int_equal(write_to(windows, 5003), -ENOSPC);
	assert_int_equal(last.made_room, 2);
	window_dir_free(windows);
}

/* The limit was lowered while the disk is full. */
static void test_window_dir__trim_though_nothing_can_be_written(void **state)
{
	(void)state;
	fill_disk(10, 0);
	disk_error = EIO;
	assert_int_equal(write_window(".", 3 * OLD_BYTES + OLD_BYTES / 4, 5000), -EIO);
	assert_int_equal(windows_there(), 3);
	assert_true(lies_there("stallprof-1009.pb.gz"));
	assert_false(lies_there("stallprof-1006.pb.gz"));
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, enter_dir, empty_disk)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_window_dir__a_name_that_is_taken_is_left, enter_dir,
		                                leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__several_write_at_once, enter_dir, leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__a_folder_that_cannot_be_looked_into_is_told,
		                                enter_dir, leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__a_folder_that_was_removed_is_made_again,
		                                enter_dir, leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__trim_takes_the_oldest, enter_dir, leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__trim_makes_room_for_more, enter_dir,
		                                leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__trim_leaves_what_was_just_written, enter_dir,
		                                leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__the_folder_is_listed_seldom, enter_dir,
		                                leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__the_folder_is_listed_now_and_then, enter_dir,
		                                leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__files_of_others_stay, enter_dir, leave_dir),
		cmocka_unit_test_setup_teardown(test_window_dir__half_written_files_of_the_dead_go, enter_dir,
		                                leave_dir),
		ON_DISK(test_window_dir__the_oldest_make_room_on_a_full_disk),
		ON_DISK(test_window_dir__few_windows_stay_on_a_full_disk),
		ON_DISK(test_window_dir__all_stay_unless_the_disk_is_full),
		ON_DISK(test_window_dir__room_is_made_in_vain_once),
		ON_DISK(test_window_dir__trim_though_nothing_can_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
