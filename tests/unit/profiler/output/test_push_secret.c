/* Tests of push_secret.h: secrets are checked, and never appear in messages. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/output/push.h"
#include "profiler/output/push_secret.h"

#define SECRET "s3cret-of-the-test"

static void write_file(char path[32], const char *text, size_t len)
{
	int fd;

	snprintf(path, 32, "/tmp/stallprof-push-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	close(fd);
}

static void test_push_secret__refuses_bad_secrets_and_never_shows_them(void **state)
{
	static const char with_nul[] = SECRET "\0" SECRET;
	char path[32], err[PUSH_ERR_MAX], *secret;
	char *longest = malloc(PUSH_SECRET_MAX + 1);

	(void)state;
	assert_non_null(longest);
	memset(longest, 'a', PUSH_SECRET_MAX + 1);
	write_file(path, with_nul, sizeof(with_nul));
	assert_int_equal(push_secret_read(path, &secret, err, sizeof(err)), -EINVAL);
	assert_null(strstr(err, SECRET));
	unlink(path);
	write_file(path, SECRET "\tX", strlen(SECRET "\tX"));
	assert_int_equal(push_secret_read(path, &secret, err, sizeof(err)), -EINVAL);
	assert_null(strstr(err, SECRET));
	unlink(path);
	write_file(path, longest, PUSH_SECRET_MAX + 1);
	assert_int_equal(push_secret_read(path, &secret, err, sizeof(err)), -EINVAL);
	unlink(path);
	write_file(path, longest, PUSH_SECRET_MAX);
	assert_int_equal(push_secret_read(path, &secret, err, sizeof(err)), 0);
	assert_int_equal(strlen(secret), PUSH_SECRET_MAX);
	push_secret_free(secret);
	unlink(path);
	free(longest);
}

/* A FIFO without a writer, for instance, keeps who opens it. */
static void test_push_secret__is_read_again_from_a_file_alone(void **state)
{
	char path[32], err[PUSH_ERR_MAX], *secret;

	(void)state;
	write_file(path, SECRET, strlen(SECRET));
	assert_int_equal(push_secret_read_again(path, &secret, err, sizeof(err)), 0);
	assert_string_equal(secret, SECRET);
	push_secret_free(secret);
	unlink(path);
	assert_int_equal(push_secret_read_again(path, &secret, err, sizeof(err)), -ENOENT);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(push_secret_read_again(path, &secret, err, sizeof(err)), -EINVAL);
	assert_null(secret);
	unlink(path);
}

static void test_push_secret__masks_what_a_server_repeats(void **state)
{
	static const struct {
		const char *secret, *text, *shown;
	} cases[] = {
		{ "abc", "refused: abc, abc", "refused: ***, ***" },
		{ "abc", "ab", "ab" },
		{ "", "as it is", "as it is" },
		{ NULL, "Authorization: Basic dTpw", "Authorization: Basic ****" },
		{ "x", "bearer a.b-c\"}", "bearer *****\"}" },
		{ "x", "basic", "basic" },
		{ "ab/cd=", "ab\\/cd\\u003D, ab/cd=", "************, ******" },
		{ "ab/cd=", "ab\\/cd\\u003e, ab\\/cd\\u00", "ab\\/cd\\u003e, ab\\/cd\\u00" },
		{ "\\\\", "\\\\ or \\\\\\\\", "** or ****" },
		{ "\xc3\xa9\xff", "\\u00e9\xff\xc3\xa9\xff", "**********" },
		{ "\xf0\x9f\x98\x80", "\\uD83D\\uDE00", "************" },
		{ "x", "\"Basic a\\/b\\u003d\\\" and Bearer\"", "\"Basic **********\\\" and Bearer\"" },
	};
	char text[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s", cases[i].text);
		push_secret_mask(cases[i].secret, text, strlen(text));
		assert_string_equal(text, cases[i].shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push_secret__is_read_again_from_a_file_alone),
		cmocka_unit_test(test_push_secret__refuses_bad_secrets_and_never_shows_them),
		cmocka_unit_test(test_push_secret__masks_what_a_server_repeats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
