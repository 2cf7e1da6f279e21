/* Tests of sink_files.h and sink_push.h: windows that are given up as a disk hangs count once, whatever becomes of them. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profiler/config/config.h"
#include "profiler/output/merged_file.h"
#include "profiler/output/sink_files.h"
#include "profiler/output/sink_news.h"
#include "profiler/output/sink_push.h"
#include "tests/unit/own_folder.h"
#include "tests/unit/profiler/output/small_window.h"

#define WINDOWS 4

static atomic_bool hangs, is_waited_for;

static void pause_ms(unsigned int ms)
{
	const struct timespec step = { .tv_nsec = ms * 1000000 };

	nanosleep(&step, NULL);
}

int fsync(int fd);

/* In place of libc's: as on a disk that hangs. */
int fsync(int fd)
{
	while (atomic_load(&hangs)) {
		atomic_store(&is_waited_for, true);
		pause_ms(1);
	}
	return (int)syscall(SYS_fsync, fd);
}

static int make_dir(void **state)
{
	(void)state;
	atomic_store(&hangs, true);
	atomic_store(&is_waited_for, false);
	return own_folder_make("given-up");
}

static atomic_bool recovers;
static pthread_t giver;

int nanosleep(const struct timespec *wanted, struct timespec *left);

/* In place of libc's: who gives up sleeps once all is told to stop. */
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	if (atomic_load(&recovers) && pthread_equal(giver, pthread_self()))
		atomic_store(&hangs, false);
	return (int)syscall(SYS_nanosleep, wanted, left);
}

static char said[512];

static void take_line(const char *line)
{
	snprintf(said, sizeof(said), "%s", line);
}

static void ignore_line(const char *line)
{
	(void)line;
}

static void wait_until_it_hangs(void)
{
	while (!atomic_load(&is_waited_for))
		pause_ms(1);
}

/* The write comes back when it has been counted as lost, and before the counts are taken. */
static void test_sink_given_up__a_window_that_is_written_after_all(void **state)
{
	struct config *config = config_default();
	struct sink_news *news = sink_news_new();
	struct sink_news_now now;
	struct sink_files *files;
	char err[512] = "";

	(void)state;
	files = sink_files_new(config, dir, news, err, sizeof(err));
	assert_non_null(files);
	for (int i = 0; i < WINDOWS; i++)
		sink_files_put(files, small_window(), i == WINDOWS - 1);
	wait_until_it_hangs();
	assert_false(sink_files_give_up(files));
	atomic_store(&hangs, false);
	while (!sink_files_has_ended(files))
		pause_ms(1);
	sink_news_take(news, ignore_line, &now);
	assert_int_equal(now.counts.kept, 0);
	assert_int_equal(now.counts.not_kept, WINDOWS);
	assert_true(now.counts.keeping_fails && now.failed);
	sink_files_leave(files);
	sink_news_free(news);
	config_free(config);
}

/* What waits is the end of the one file, without a window: as when those that were still to be packed are dropped. */
static void test_sink_given_up__the_end_of_one_file(void **state)
{
	struct config *config = config_default();
	struct sink_news *news = sink_news_new();
	struct profile *window = small_window();
	struct sink_news_now now;
	struct sink_files *files;
	char path[128], err[512] = "";

	(void)state;
	snprintf(path, sizeof(path), "%s/one.pb.gz", dir);
	files = sink_files_new(config, path, news, err, sizeof(err));
	assert_non_null(files);
	profile_set_time(window, 1700000000000000000, MERGED_FILE_SAVE_NS);
	sink_files_put(files, window, false);
	wait_until_it_hangs();
	sink_files_put(files, NULL, true);
	giver = pthread_self();
	atomic_store(&recovers, true);
	assert_true(sink_files_give_up(files));
	atomic_store(&recovers, false);
	said[0] = '\0';
	sink_news_take(news, take_line, &now);
	assert_non_null(strstr(said, "one.pb.gz is not written: no time was left for it"));
	assert_true(now.failed);
	sink_files_free(files);
	sink_news_free(news);
	config_free(config);
}

/* Nobody listens at port 1, so windows are stored in a spool. */
static void test_sink_given_up__a_window_that_is_stored_after_all(void **state)
{
	struct config *config = config_default();
	struct sink_news *news = sink_news_new();
	struct profile *window = small_window();
	struct sink_news_now now;
	struct sink_push *push;
	char err[512] = "";

	(void)state;
	assert_int_equal(config_set(config, "push.url", "http://127.0.0.1:1", err, sizeof(err)), 0);
	assert_int_equal(config_set(config, "push.spool", dir, err, sizeof(err)), 0);
	push = sink_push_new(config, news, err, sizeof(err));
	assert_non_null(push);
	sink_push_begin(push);
	for (int i = 0; i < WINDOWS; i++)
		sink_push_put(push, window, i == WINDOWS - 1);
	wait_until_it_hangs();
	assert_false(sink_push_give_up(push));
	atomic_store(&hangs, false);
	while (!sink_push_has_ended(push))
		pause_ms(1);
	sink_news_take(news, ignore_line, &now);
	assert_int_equal(now.counts.not_pushed + now.counts.spooled, WINDOWS);
	assert_true(now.counts.pushing_fails);
	sink_push_leave(push);
	profile_free(window);
	sink_news_free(news);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sink_given_up__a_window_that_is_written_after_all,
		                                make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_sink_given_up__the_end_of_one_file, make_dir,
		                                remove_dir),
		cmocka_unit_test_setup_teardown(test_sink_given_up__a_window_that_is_stored_after_all,
		                                make_dir, remove_dir),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
