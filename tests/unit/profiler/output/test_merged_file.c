/* Tests of merged_file.h: when the file is written, what it has then and at the end; and of its queue while the disk hangs. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pprof/pprof_file.h"
#include "pprof/profile.h"
#include "profiler/config/config.h"
#include "profiler/format/class_comments.h"
#include "profiler/format/stamp.h"
#include "profiler/output/merged_file.h"
#include "profiler/output/sink_files.h"
#include "profiler/output/sink_news.h"
#include "tests/unit/own_folder.h"
#include "tests/unit/profiler/output/small_window.h"

#define SECOND      1000000000LL
#define WINDOW_NS   (100 * SECOND) /* three of them are MERGED_FILE_SAVE_NS */
#define CONTENTIONS 3              /* of a small_window() */

static atomic_bool disk_hangs, disk_is_full;
static char path[128];
static struct sink_news *news;
static struct merged_file *merged;
static struct sink_news_now now;
static unsigned int told;
static char said[1024];

int fsync(int fd);

/* In place of libc's. */
int fsync(int fd)
{
	const struct timespec step = { .tv_nsec = 1000000 };

	(void)fd;
	while (atomic_load(&disk_hangs))
		nanosleep(&step, NULL);
	errno = ENOSPC;
	return atomic_load(&disk_is_full) ? -1 : 0;
}

static void take_line(const char *line)
{
	told++;
	snprintf(said, sizeof(said), "%s", line);
}

static int begin(void **state)
{
	(void)state;
	if (own_folder_make("merged-file"))
		return -1;
	snprintf(path, sizeof(path), "%s/p.pb.gz", dir);
	news = sink_news_new();
	merged = merged_file_new(path, news);
	told = 0;
	atomic_store(&disk_hangs, false);
	atomic_store(&disk_is_full, false);
	return news && merged ? 0 : -1;
}

static int end(void **state)
{
	merged_file_free(merged);
	sink_news_free(news);
	return remove_dir(state);
}

static struct profile *window(int number)
{
	struct profile *profile = small_window();

	profile_set_time(profile, (1700000000 + 100 * number) * SECOND, WINDOW_NS);
	assert_int_equal(profile_add_note(profile, "stallprof.ledger tag=a state=oncpu ns=1 count=2"), 0);
	return profile;
}

static void add(int n)
{
	for (int i = 0; i < n; i++) {
		merged_file_add(merged, window(i));
		merged_file_save(merged);
	}
	sink_news_take(news, take_line, &now);
}

static struct profile *read_file(void)
{
	struct profile *profile = NULL;
	char err[256] = "";

	if (pprof_file_read(path, 1 << 20, &profile, err, sizeof(err)))
		fail_msg("%s", err);
	return profile;
}

/* How many windows the file has; 0: there is none. */
static int64_t windows_in_file(void)
{
	struct profile_sample_view sample;
	struct profile *profile;
	int64_t n;

	if (access(path, F_OK))
		return 0;
	profile = read_file();
	assert_true(profile_get_sample(profile, 0, &sample));
	n = sample.values[0] / CONTENTIONS;
	assert_int_equal(profile_duration_ns(profile), n * WINDOW_NS);
	profile_free(profile);
	return n;
}

static uint64_t dropped_in_file(void)
{
	struct profile *profile = read_file();
	struct stamp *stamp = stamp_new();
	uint64_t n;

	assert_int_equal(stamp_from_notes(stamp, profile, NULL), 0);
	n = stamp_counter(stamp, "windows_dropped");
	stamp_free(stamp);
	profile_free(profile);
	return n;
}

static void test_merged_file__is_saved_every_five_minutes(void **state)
{
	static const int64_t expected[] = { 0, 0, 3, 3, 3, 6, 6 };

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		add(1);
		assert_int_equal(windows_in_file(), expected[i]);
	}
	assert_string_equal(now.last_file, "");
	merged_file_end(merged);
	assert_int_equal(windows_in_file(), 7);
	sink_news_take(news, take_line, &now);
	assert_string_equal(now.last_file, path);
	assert_int_equal(told, 0);
	assert_false(now.failed);
}

/* Byte by byte, also with class_comments.h's sums, of which a file has one set. */
static void test_merged_file__at_the_end_is_as_if_never_saved(void **state)
{
	struct profile *whole = window(0), *from_file;
	void *expected, *found;
	size_t expected_len, found_len;
	char err[256];

	(void)state;
	add(7);
	merged_file_end(merged);
	for (int i = 1; i < 7; i++) {
		struct profile *next = window(i);

		assert_int_equal(profile_merge(whole, next, err, sizeof(err)), 0);
		profile_free(next);
	}
	assert_int_equal(class_comments_add(whole), 0);
	assert_int_equal(profile_n_comments(whole), 1);
	from_file = read_file();
	assert_int_equal(profile_encode(whole, 0, false, &expected, &expected_len), 0);
	assert_int_equal(profile_encode(from_file, 0, false, &found, &found_len), 0);
	assert_int_equal(found_len, expected_len);
	assert_memory_equal(found, expected, found_len);
	free(expected);
	free(found);
	profile_free(whole);
	profile_free(from_file);
}

static void test_merged_file__a_device_gets_it_once(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/dev/full");
	add(7);
	assert_int_equal(told, 0);
	merged_file_end(merged);
	sink_news_take(news, take_line, &now);
	assert_int_equal(told, 1);
	assert_true(now.failed);
}

/* Once the file that is open there was replaced, the path leads nowhere. */
static void test_merged_file__a_file_that_is_open_gets_it_once(void **state)
{
	char file[128], open_file[128];
	int fd;

	(void)state;
	snprintf(file, sizeof(file), "%s", path);
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	snprintf(open_file, sizeof(open_file), "/dev/fd/%d", fd);
	snprintf(path, sizeof(path), "%s", open_file);
	add(7);
	merged_file_end(merged);
	close(fd);
	sink_news_take(news, take_line, &now);
	assert_false(now.failed);
	snprintf(path, sizeof(path), "%s", file);
	assert_int_equal(windows_in_file(), 7);
}

static void test_merged_file__a_save_that_fails_is_said_once_and_is_tried_again(void **state)
{
	(void)state;
	atomic_store(&disk_is_full, true);
	add(6);
	assert_int_equal(windows_in_file(), 0);
	assert_int_equal(told, 1);
	assert_non_null(strstr(said, "No space left on device"));
	atomic_store(&disk_is_full, false);
	add(3);
	assert_int_equal(windows_in_file(), 9);
	merged_file_end(merged);
	sink_news_take(news, take_line, &now);
	assert_int_equal(told, 1);
	assert_false(now.failed);
}

static void test_merged_file__what_is_missing_is_noted_in_each_file_and_counts_once(void **state)
{
	(void)state;
	merged_file_lose(merged, 2);
	add(3);
	assert_int_equal(dropped_in_file(), 2);
	merged_file_lose(merged, 1);
	add(3);
	assert_int_equal(dropped_in_file(), 3);
	merged_file_lose(merged, 1);
	merged_file_end(merged);
	assert_int_equal(dropped_in_file(), 4);
	sink_news_take(news, take_line, &now);
	assert_int_equal(told, 1);
	assert_string_equal(said, "4 windows are missing in the profile");
}

/* As many as a minute's hang makes, and more: before the end nobody needs the file, so none may be lost for it. */
static void test_merged_file__a_disk_that_hangs_loses_no_window(void **state)
{
	const int n = 20 * SINK_FILES_WINDOWS;
	const struct timespec step = { .tv_nsec = 1000000 };
	struct config *config = config_default();
	char err[256];
	struct sink_files *files = sink_files_new(config, path, news, err, sizeof(err));

	(void)state;
	assert_non_null(files);
	atomic_store(&disk_hangs, true);
	for (int i = 0; i < n; i++)
		sink_files_put(files, window(i), false);
	atomic_store(&disk_hangs, false);
	sink_files_put(files, NULL, true);
	while (!sink_files_has_ended(files))
		nanosleep(&step, NULL);
	sink_news_take(news, take_line, &now);
	assert_int_equal(told, 0);
	assert_int_equal(windows_in_file(), n);
	sink_files_free(files);
	config_free(config);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_merged_file__##name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(is_saved_every_five_minutes),
		TEST(at_the_end_is_as_if_never_saved),
		TEST(a_device_gets_it_once),
		TEST(a_file_that_is_open_gets_it_once),
		TEST(a_save_that_fails_is_said_once_and_is_tried_again),
		TEST(what_is_missing_is_noted_in_each_file_and_counts_once),
		TEST(a_disk_that_hangs_loses_no_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
