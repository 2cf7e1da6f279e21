/* Tests of spool.h: windows in a folder outlive the process that put them there. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/output/spool.h"
#include "profiler/output/spool_file.h"
#include "tests/unit/profiler/output/spool_window.h"

static const char *const bodies[] = { "one", "two", "three" };
static char above[64], folder[96];

static int make_folder(void **state)
{
	(void)state;
	snprintf(above, sizeof(above), "/tmp/stallprof-spool-XXXXXX");
	assert_non_null(mkdtemp(above));
	snprintf(folder, sizeof(folder), "%s/spool", above);
	return 0;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", above);
	return system(command);
}

static struct spool *opened(void)
{
	struct spool *spool = NULL;

	assert_int_equal(spool_open(folder, &spool), 0);
	return spool;
}

static const char *path_of(const char *name)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, const void *bytes, size_t len)
{
	FILE *file = fopen(path_of(name), "we");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	fclose(file);
}

static void put(struct spool *spool, const char *job, size_t n)
{
	for (; n; n--) {
		struct push_window *window = spool_window(job, bodies, 3);

		assert_int_equal(spool_store(spool, window), 0);
		assert_true(window->number && window->file_bytes);
		push_window_free(window);
	}
}

static size_t count(struct spool *spool, uint64_t *first)
{
	struct spool_entry *entries;
	size_t n;

	assert_int_equal(spool_list(spool, &entries, &n), 0);
	for (size_t i = 1; i < n; i++)
		assert_true(entries[i - 1].number < entries[i].number);
	if (first)
		*first = n ? entries[0].number : 0;
	free(entries);
	return n;
}

static void test_spool__windows_outlive_it_in_their_order(void **state)
{
	struct push_window window = { 0 };
	struct spool *spool = opened();
	const char *fault;
	struct stat st;

	(void)state;
	assert_int_equal(count(spool, NULL), 0);
	put(spool, "first", 1);
	put(spool, "then", 11);
	spool_close(spool);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(path_of("000000000001.window"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_not_equal(access(path_of("new"), F_OK), 0);

	spool = opened();
	assert_int_equal(count(spool, &window.number), 12);
	assert_int_equal(window.number, 1);
	assert_int_equal(spool_load(spool, &window, &fault), 0);
	assert_string_equal(window.labels->label[1].value, "first");
	assert_int_equal(window.n, 3);
	push_window_unload(&window);
	/* Numbers go on. */
	put(spool, "last", 1);
	assert_int_equal(access(path_of("000000000013.window"), F_OK), 0);
	spool_remove(spool, &window);
	assert_int_equal(window.number, 0);
	assert_int_equal(count(spool, &window.number), 12);
	assert_int_equal(window.number, 2);
	spool_close(spool);
}

static void test_spool__keeps_what_was_sent_already(void **state)
{
	struct push_window again = { .number = 1 }, *window = spool_window("a", bodies, 3);
	struct spool *spool = opened();
	const char *fault;

	(void)state;
	assert_int_equal(spool_store(spool, window), 0);
	window->at = 2;
	window->unanswered = 1;
	assert_int_equal(spool_note(spool, window), 0);
	push_window_free(window);
	spool_close(spool);
	spool = opened();
	assert_int_equal(spool_load(spool, &again, &fault), 0);
	assert_int_equal(again.at, 2);
	assert_int_equal(again.unanswered, 1);
	push_window_unload(&again);
	spool_close(spool);
}

static void test_spool__to_check_makes_nothing(void **state)
{
	struct spool *spool;

	(void)state;
	assert_int_equal(spool_check(folder), 0);
	assert_int_equal(access(folder, F_OK), -1);
	spool = opened();
	assert_int_equal(spool_check(folder), -EWOULDBLOCK);
	spool_close(spool);
	assert_int_equal(spool_check(folder), 0);
	spool_close(opened()); /* nobody has it */
	assert_int_equal(chmod(folder, 0770), 0);
	assert_int_equal(spool_check(folder), -EPERM);
	write_file("file", "", 0);
	assert_int_equal(spool_check(path_of("file")), -ENOTDIR);
	assert_int_equal(spool_check(path_of("no/such")), -ENOENT);
}

static void test_spool__is_of_one_process(void **state)
{
	struct spool *spool = opened(), *other, *shared = spool_share(spool);
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(spool_open(folder, &other), -EWOULDBLOCK);
	spool_close(spool);
	assert_int_equal(spool_open(folder, &other), -EWOULDBLOCK);
	/* A program that is started does not get the lock. */
	pid = fork();
	if (!pid) {
		execlp("sleep", "sleep", "10", NULL);
		_exit(1);
	}
	assert_true(pid > 0);
	usleep(100000);
	spool_close(shared);
	spool_close(opened());
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

/* Cut by a crash that lost what was not synced, made up, or something else than a file. */
static void test_spool__damaged_files_are_set_aside(void **state)
{
	struct push_window window = { 0 };
	struct spool *spool = opened();
	const char *fault;
	struct stat st;

	(void)state;
	put(spool, "a", 4);
	write_file("000000000001.window", "", 0);
	assert_int_equal(truncate(path_of("000000000002.window"), 40), 0);
	assert_int_equal(unlink(path_of("000000000003.window")), 0);
	assert_int_equal(symlink("/etc/passwd", path_of("000000000003.window")), 0);
	assert_int_equal(mkfifo(path_of("000000000005.window"), 0600), 0);
	write_file("000000000006.window", "x", 1);
	assert_int_equal(chmod(path_of("000000000006.window"), 0666), 0);
	write_file("000000000007.window", "x", 1);
	assert_int_equal(truncate(path_of("000000000007.window"), SPOOL_FILE_MAX + 1), 0);
	assert_int_equal(count(spool, NULL), 7);
	for (uint64_t number = 1; number <= 7; number++) {
		window.number = number;
		assert_int_equal(spool_load(spool, &window, &fault), number == 4 ? 0 : -EBADMSG);
		assert_true(number == 4 || fault);
		assert_true(number == 4 || !window.n);
		push_window_unload(&window);
	}
	assert_int_equal(count(spool, NULL), 1);
	assert_int_equal(lstat(path_of("damaged"), &st), 0);
	assert_int_equal(st.st_size, SPOOL_FILE_MAX + 1);
	window.number = 8;
	assert_int_equal(mkdir(path_of("000000000008.window"), 0700), 0);
	assert_int_equal(spool_load(spool, &window, &fault), -EISDIR);
	assert_int_equal(rmdir(path_of("000000000008.window")), 0);
	window.number = 99;
	assert_int_equal(spool_load(spool, &window, &fault), -ENOENT);
	spool_close(spool);
}

static void test_spool__only_its_own_files_are_touched(void **state)
{
	static const char *const others[] = { "note",
		                              "1.window",
		                              "000000000000.window",
		                              "00000000000a.window",
		                              "000000000001.window.bak",
		                              "9999999999999.window" };
	struct spool *spool;

	(void)state;
	spool_close(opened());
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		write_file(others[i], "x", 1);
	write_file("new", "half a win", 10);
	spool = opened();
	assert_int_equal(count(spool, NULL), 0);
	/* To open it changes nothing. */
	assert_int_equal(access(path_of("new"), F_OK), 0);
	put(spool, "a", 1);
	assert_int_not_equal(access(path_of("new"), F_OK), 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(access(path_of(others[i]), F_OK), 0);
	spool_close(spool);
}

static void test_spool__a_file_is_whole_or_not_there(void **state)
{
	struct push_window *window = spool_window("a", bodies, 3);
	const struct rlimit small = { 20, RLIM_INFINITY }, none = { RLIM_INFINITY, RLIM_INFINITY };
	struct spool *spool = opened();

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(spool_store(spool, window), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(window->number, 0);
	assert_int_equal(count(spool, NULL), 0);
	assert_int_not_equal(access(path_of("new"), F_OK), 0);
	assert_int_equal(spool_store(spool, window), 0);
	push_window_free(window);
	spool_close(spool);
}

static void test_spool__a_folder_that_was_removed_is_made_anew(void **state)
{
	struct spool *spool = opened(), *other;
	char command[128];

	(void)state;
	put(spool, "a", 2);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
	put(spool, "a", 1);
	assert_int_equal(access(path_of("000000000003.window"), F_OK), 0);
	assert_int_equal(count(spool, NULL), 1);
	assert_int_equal(spool_open(folder, &other), -EWOULDBLOCK);
	spool_close(spool);
	spool_close(opened());
}

/* Which another process has used meanwhile. */
static void test_spool__a_folder_made_anew_by_others_loses_none_of_theirs(void **state)
{
	struct spool *spool = opened();
	struct stat st;

	(void)state;
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	write_file("000000000001.window", "theirs", 6);
	put(spool, "a", 1);
	assert_int_equal(stat(path_of("000000000001.window"), &st), 0);
	assert_int_equal(st.st_size, 6);
	assert_int_equal(access(path_of("000000000002.window"), F_OK), 0);
	spool_close(spool);
}

static void test_spool__is_known_by_any_of_its_names(void **state)
{
	struct spool *spool = opened();
	char other[128];

	(void)state;
	assert_true(spool_is(spool, folder));
	snprintf(other, sizeof(other), "%s/", folder);
	assert_true(spool_is(spool, other));
	snprintf(other, sizeof(other), "%s/./spool", above);
	assert_true(spool_is(spool, other));
	assert_false(spool_is(spool, above));
	snprintf(other, sizeof(other), "%s/none", above);
	assert_false(spool_is(spool, other));
	spool_close(spool);
}

static void test_spool__folders_that_cannot_be_trusted_are_refused(void **state)
{
	char aside[128];
	struct spool *spool;

	(void)state;
	assert_int_equal(mkdir(folder, 0777), 0);
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(spool_open(folder, &spool), -EPERM);
	assert_int_equal(chmod(folder, 0700), 0);
	snprintf(aside, sizeof(aside), "%s/aside", above);
	assert_int_equal(rename(folder, aside), 0);
	assert_int_equal(symlink(aside, folder), 0);
	assert_int_equal(spool_open(folder, &spool), -ENOTDIR);
	assert_int_equal(unlink(folder), 0);
	snprintf(folder, sizeof(folder), "%s/missing/spool", above);
	assert_int_equal(spool_open(folder, &spool), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_spool__windows_outlive_it_in_their_order, make_folder,
		                                remove_folder),
		cmocka_unit_test_setup_teardown(test_spool__keeps_what_was_sent_already, make_folder,
		                                remove_folder),
		cmocka_unit_test_setup_teardown(test_spool__to_check_makes_nothing, make_folder,
		                                remove_folder),
		cmocka_unit_test_setup_teardown(test_spool__is_of_one_process, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_spool__damaged_files_are_set_aside, make_folder,
		                                remove_folder),
		cmocka_unit_test_setup_teardown(test_spool__only_its_own_files_are_touched, make_folder,
		                                remove_folder),
		cmocka_unit_test_setup_teardown(test_spool__a_file_is_whole_or_not_there, make_folder,
		                                remove_folder),
		cmocka_unit_test_setup_teardown(test_spool__a_folder_that_was_removed_is_made_anew,
		                                make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_spool__a_folder_made_anew_by_others_loses_none_of_theirs,
		                                make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_spool__is_known_by_any_of_its_names, make_folder,
		                                remove_folder),
		cmocka_unit_test_setup_teardown(test_spool__folders_that_cannot_be_trusted_are_refused,
		                                make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
