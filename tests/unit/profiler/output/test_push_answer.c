/* Tests of push_answer.h: the error text in a server's answer. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "profiler/output/push_answer.h"

static void test_push_answer__finds_the_servers_words(void **state)
{
	static const struct {
		const char *body, *words;
	} table[] = {
		{ "", "" },
		{ "{\"code\":\"x\",\"message\":\"plain\",\"details\":[]}", "plain" },
		{ " { \"message\" : \"a\\nb\\u0041\\u00e9\\u20ac\\ud83d\\/\" }",
		  "a bA\xc3\xa9\xe2\x82\xac?/" },
		{ "{\"code\":\"x\"}", "" },
		{ "{\"details\":[],\"message\":\"behind\"}", "" },
		{ "{\"message\":\"cut off", "" },
		{ "{\"message\":\"cut \\u00", "" },
		{ "{\"message\":\"cut \\", "" },
		{ "{\"a-key-longer-than-any\":\"x\",\"message\":\"m\"}", "m" },
		{ "too many requests\r\nsecond line", "too many requests" },
		{ "<html><body>502</body></html>", "" },
		{ "\x1b[31mred", " [31mred" },
	};
	char words[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		push_answer_words(table[i].body, strlen(table[i].body), words, sizeof(words));
		assert_string_equal(words, table[i].words);
	}
}

static void test_push_answer__cuts_words_to_their_room(void **state)
{
	char words[7];

	(void)state;
	push_answer_words("{\"message\":\"longer than it fits\"}", 33, words, sizeof(words));
	assert_string_equal(words, "longer");
	push_answer_words("x", 1, words, 1);
	assert_string_equal(words, "");
}

static void test_push_answer__fits_any_room(void **state)
{
	char err[24];

	(void)state;
	assert_int_equal(push_answer_judge(503, "busy", 4, "http://host/", err, sizeof(err)), -EREMOTEIO);
	assert_string_equal(err, "push to http://host/: H");
}

/* Only that of the series does not pass by itself. */
static void test_push_answer__tells_limits_apart(void **state)
{
	static const struct {
		const char *words;
		int error;
	} table[] = {
		{ "Maximum active series limit exceeded (10/10), reduce the number of active streams",
		  -EDQUOT },
		{ "resource_exhausted: maximum active series limit exceeded (10/10)", -EDQUOT },
		{ "push rate limit (4.0 MiB) exceeded while adding 5.0 MiB", -EAGAIN },
		{ "limit of 10 GiB/day reached, next reset at 2026-11-29T00:00:00Z", -EAGAIN },
		{ "", -EAGAIN },
	};
	char err[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *words = table[i].words;

		assert_int_equal(
		        push_answer_judge(429, words, strlen(words), "http://host/", err, sizeof(err)),
		        table[i].error);
		assert_non_null(strstr(err, words));
	}
	assert_int_equal(push_answer_judge(500, table[0].words, strlen(table[0].words), "http://host/", err,
	                                   sizeof(err)),
	                 -EREMOTEIO);
}

/* A sign-in page, for instance. */
static void test_push_answer__not_every_200_is_pyroscopes(void **state)
{
	static const struct {
		const char *type, *shown;
	} table[] = {
		{ "application/proto", NULL },
		{ "Application/Proto; charset=utf-8", NULL },
		{ "text/html; charset=utf-8", "HTTP 200 (text/html): check push.url" },
		{ "application/proto ;x", NULL },
		{ "application/protobuf", "HTTP 200 (application/protobuf): check push.url" },
		{ "application/json", "HTTP 200 (application/json): check push.url" },
		{ "text/\x1b[31m", "HTTP 200 (text/ [31m): check push.url" },
		{ "", "HTTP 200 (no Content-Type): check push.url" },
	};
	char err[256];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int result = push_answer_check_type(table[i].type, "http://host/", err, sizeof(err));

		assert_int_equal(result, table[i].shown ? -ENOENT : 0);
		if (table[i].shown && !strstr(err, table[i].shown))
			fail_msg("%s", err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push_answer__finds_the_servers_words),
		cmocka_unit_test(test_push_answer__cuts_words_to_their_room),
		cmocka_unit_test(test_push_answer__fits_any_room),
		cmocka_unit_test(test_push_answer__tells_limits_apart),
		cmocka_unit_test(test_push_answer__not_every_200_is_pyroscopes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
