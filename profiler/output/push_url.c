/* Checks the server's URL, and adds the API's path. */

#include "profiler/output/push_url.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PUSH_PATH "/push.v1.PusherService/Push"

/* What is wrong with a URL's parts; NULL when nothing is. */
static const char *url_fault(CURLU *url)
{
	static const struct {
		CURLUPart part;
		const char *fault;
	} unwanted[] = {
		{ CURLUPART_USER,
		  "it must not have a user name; use the settings for user and password file" },
		{ CURLUPART_PASSWORD,
		  "it must not have a password; use the settings for user and password file" },
		{ CURLUPART_QUERY, "it must not have a query" },
		{ CURLUPART_FRAGMENT, "it must not have a fragment" },
	};
	const char *fault = NULL;
	char *text = NULL;
	size_t i;

	if (curl_url_get(url, CURLUPART_SCHEME, &text, 0) || (strcmp(text, "http") && strcmp(text, "https")))
		fault = "it must begin with http:// or https://";
	curl_free(text);
	for (i = 0; !fault && i < sizeof(unwanted) / sizeof(unwanted[0]); i++) {
		text = NULL;
		if (!curl_url_get(url, unwanted[i].part, &text, 0))
			fault = unwanted[i].fault;
		curl_free(text);
	}
	return fault;
}

int push_url_make(const char *given, char **made, char *err, size_t err_len)
{
	CURLU *url = curl_url();
	const char *fault;
	size_t len = strlen(given);
	CURLUcode code;

	*made = NULL;
	if (!url) {
		snprintf(err, err_len, "out of memory");
		return -ENOMEM;
	}
	code = curl_url_set(url, CURLUPART_URL, given, CURLU_NON_SUPPORT_SCHEME);
	fault = code ? curl_url_strerror(code) : url_fault(url);
	curl_url_cleanup(url);
	if (fault) {
		/* The URL itself is not shown: a password may stand in it. */
		snprintf(err, err_len,
		         "the server's URL can't be used: %s; an example: http://127.0.0.1:4040", fault);
		return -EINVAL;
	}
	while (len && given[len - 1] == '/')
		len--;
	if (asprintf(made, "%.*s" PUSH_PATH, (int)len, given) >= 0)
		return 0;
	*made = NULL;
	snprintf(err, err_len, "out of memory");
	return -ENOMEM;
}
