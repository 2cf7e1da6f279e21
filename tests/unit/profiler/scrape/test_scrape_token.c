/* Tests of scrape_token.h: when the file is read again, and what becomes of who asks while that does not end. The clock is ours. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profiler/scrape/scrape_token.h"

/* --- a clock that stands still, and a file system that does not answer ------------------------------------- */

static atomic_long clock_s; /* 0: the kernel's */
static char path[] = "/tmp/stallprof-token-XXXXXX";
static atomic_bool hangs; /* who opens the file */
static sem_t opened, goes_on;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	if (!result && atomic_load(&clock_s))
		*now = (struct timespec){ .tv_sec = atomic_load(&clock_s) };
	return result;
}

int open(const char *file, int flags, ...)
{
	if (atomic_load(&hangs) && !strcmp(file, path)) {
		sem_post(&opened);
		sem_wait(&goes_on);
	}
	return (int)syscall(SYS_openat, AT_FDCWD, file, flags, 0);
}

static void write_token(const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fprintf(file, "%s\n", text);
	fclose(file);
}

static struct scrape_token *begin(void)
{
	char err[512] = "";
	struct scrape_token *token;

	write_token("first");
	token = scrape_token_new(path, err, sizeof(err));
	if (!token)
		fail_msg("%s", err);
	return token;
}

/* --- tests ------------------------------------------------------------------------------------------------- */

static void test_scrape_token__read_once_a_second(void **state)
{
	struct scrape_token *token;

	(void)state;
	atomic_store(&clock_s, time(NULL) * 2); /* later than any wait of the kernel's clock */
	token = begin();
	write_token("second");
	assert_true(scrape_token_is_in(token, "Bearer first"));
	assert_false(scrape_token_is_in(token, "Bearer second"));
	clock_s++;
	assert_false(scrape_token_is_in(token, "Bearer first"));
	assert_true(scrape_token_is_in(token, "Bearer second"));
	write_token("third");
	assert_false(scrape_token_is_in(token, "Bearer third"));
	clock_s++;
	assert_true(scrape_token_is_in(token, "bearer third"));
	write_token("");
	clock_s++;
	assert_true(scrape_token_is_in(token, "Bearer third"));
	assert_false(scrape_token_is_in(token, "Bearer "));
	assert_false(scrape_token_is_in(token, NULL));
	scrape_token_free(token);
	atomic_store(&clock_s, 0);
}

static void test_scrape_token__file_that_hangs(void **state)
{
	struct scrape_token *token = begin();

	(void)state;
	write_token("second");
	atomic_store(&hangs, true);
	usleep(1100000);
	assert_true(scrape_token_is_in(token, "Bearer first"));
	sem_wait(&opened);
	usleep(1100000);
	assert_true(scrape_token_is_in(token, "Bearer first"));
	assert_int_equal(sem_trywait(&opened), -1); /* one thread hangs, not more */
	atomic_store(&hangs, false);
	sem_post(&goes_on);
	while (!scrape_token_is_in(token, "Bearer second"))
		usleep(1000);
	scrape_token_free(token);
}

/* The thread frees it. */
static void test_scrape_token__freed_while_it_hangs(void **state)
{
	struct scrape_token *token = begin();

	(void)state;
	atomic_store(&hangs, true);
	usleep(1100000);
	assert_true(scrape_token_is_in(token, "Bearer first"));
	sem_wait(&opened);
	scrape_token_free(token);
	atomic_store(&hangs, false);
	sem_post(&goes_on);
	usleep(100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scrape_token__read_once_a_second),
		cmocka_unit_test(test_scrape_token__file_that_hangs),
		cmocka_unit_test(test_scrape_token__freed_while_it_hangs),
	};
	int failed;

	sem_init(&opened, 0, 0);
	sem_init(&goes_on, 0, 0);
	close(mkstemp(path));
	alarm(60);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
