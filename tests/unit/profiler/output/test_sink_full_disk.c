/* Tests of sink_files.h with a disk that is full: what is said and counted (test_window_dir.c has what is removed). */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profiler/config/config.h"
#include "profiler/output/sink_files.h"
#include "profiler/output/sink_news.h"
#include "profiler/output/window_dir.h"
#include "tests/unit/own_folder.h"
#include "tests/unit/profiler/output/small_window.h"

#define OLD_WINDOWS (WINDOW_DIR_LEAST + 40)
#define WINDOWS     3

/* How many of the next syncs fail. */
static atomic_int fulls;
static unsigned int told;
static char said[4096];

int fsync(int fd);

/* In place of libc's. */
int fsync(int fd)
{
	(void)fd;
	if (atomic_load(&fulls) <= 0)
		return 0;
	atomic_fetch_sub(&fulls, 1);
	errno = ENOSPC;
	return -1;
}

static void take_line(const char *line)
{
	told++;
	snprintf(said, sizeof(said), "%s", line);
}

static int make_dir(void **state)
{
	char command[256];

	(void)state;
	atomic_store(&fulls, 0);
	told = 0;
	if (own_folder_make("full-disk"))
		return -1;
	snprintf(command, sizeof(command),
	         "cd %s && for i in $(seq %d); do head -c 10000 /dev/zero > stallprof-$((1000 + i)).pb.gz; "
	         "done",
	         dir, OLD_WINDOWS);
	return system(command);
}

/* Writes the windows, each after as many syncs have failed as `each` says. */
static struct sink_counts write_windows(int each)
{
	const struct timespec step = { .tv_nsec = 1000000 };
	struct config *config = config_default();
	struct sink_news *news = sink_news_new();
	struct sink_files *files;
	struct sink_news_now now;
	char err[512] = "";

	files = sink_files_new(config, dir, news, err, sizeof(err));
	assert_non_null(files);
	for (int i = 0; i < WINDOWS; i++) {
		atomic_store(&fulls, each);
		sink_files_put(files, small_window(), false);
		while (sink_files_count(files))
			nanosleep(&step, NULL);
	}
	sink_files_put(files, NULL, true);
	while (!sink_files_has_ended(files))
		nanosleep(&step, NULL);
	sink_news_take(news, take_line, &now);
	sink_files_free(files);
	sink_news_free(news);
	config_free(config);
	return now.counts;
}

static void test_sink_full_disk__room_is_told_once_and_counted(void **state)
{
	struct sink_counts counts;

	(void)state;
	counts = write_windows(1);
	assert_int_equal(counts.kept, WINDOWS);
	assert_int_equal(counts.not_kept, 0);
	assert_int_equal(counts.made_room, 2 * WINDOWS);
	assert_true(counts.kept_bytes > 0);
	assert_int_equal(told, 1);
	assert_non_null(strstr(said, "the disk is full: the oldest windows are removed to keep new ones"));
}

static void test_sink_full_disk__no_room_is_told_once_and_counted(void **state)
{
	struct sink_counts counts;

	(void)state;
	counts = write_windows(100);
	assert_int_equal(counts.kept, 0);
	assert_int_equal(counts.not_kept, WINDOWS);
	assert_int_equal(counts.made_room, 2);
	assert_int_equal(told, 2);
	assert_non_null(strstr(said, "No space left on device"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sink_full_disk__room_is_told_once_and_counted, make_dir,
		                                remove_dir),
		cmocka_unit_test_setup_teardown(test_sink_full_disk__no_room_is_told_once_and_counted,
		                                make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
