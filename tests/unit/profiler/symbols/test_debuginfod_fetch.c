/* Tests of what libcurl is told for a debug file: its functions are this file's here. */

#define CURL_DISABLE_TYPECHECK

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "profiler/symbols/debuginfod_fetch.h"

#undef curl_easy_setopt

static char redirects_to[64];

CURLcode curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
	va_list args;

	(void)curl;
	va_start(args, option);
	if (option == CURLOPT_REDIR_PROTOCOLS_STR)
		snprintf(redirects_to, sizeof(redirects_to), "%s", va_arg(args, const char *));
	va_end(args);
	return CURLE_OK;
}

CURLcode curl_easy_perform(CURL *curl)
{
	(void)curl;
	return CURLE_COULDNT_CONNECT;
}

static void assert_redirects(const char *url, const char *expected)
{
	const atomic_bool stop = false;
	const struct debuginfod_fetch fetch = { .url = url, .build_id = "abcd", .stop = &stop };

	redirects_to[0] = 0;
	assert_int_equal(debuginfod_fetch(&fetch, -1), -EIO);
	assert_string_equal(redirects_to, expected);
}

static void test_debuginfod_fetch__no_redirect_to_what_can_be_listened_to(void **state)
{
	(void)state;
	assert_redirects("https://debuginfod.example/", "https");
	assert_redirects("HTTPS://debuginfod.example", "https");
	assert_redirects("http://127.0.0.1:8002/", "http,https");
	assert_redirects("debuginfod.example", "http,https");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_debuginfod_fetch__no_redirect_to_what_can_be_listened_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
