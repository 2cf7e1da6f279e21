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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push_answer__finds_the_servers_words),
		cmocka_unit_test(test_push_answer__cuts_words_to_their_room),
		cmocka_unit_test(test_push_answer__fits_any_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
