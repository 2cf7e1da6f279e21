/* Reads credentials, and hands them to libcurl. */

#include "profiler/output/push_credentials.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/push_secret.h"

int push_credentials_read(struct push_credentials *credentials, const char *user, const char *file, char *err,
                          size_t err_len)
{
	if (!file)
		return 0;
	credentials->user = user ? strdup(user) : NULL;
	credentials->file = strdup(file);
	if ((user && !credentials->user) || !credentials->file) {
		snprintf(err, err_len, "out of memory");
		return -ENOMEM;
	}
	return push_secret_read(file, &credentials->secret, err, err_len);
}

bool push_credentials_renew(struct push_credentials *credentials)
{
	char err[256], *secret;

	if (!credentials->file || push_secret_read_again(credentials->file, &secret, err, sizeof(err)))
		return false;
	if (!strcmp(secret, credentials->secret)) {
		push_secret_free(secret);
		return false;
	}
	push_secret_free(credentials->secret);
	credentials->secret = secret;
	return true;
}

CURLcode push_credentials_set(const struct push_credentials *credentials, CURL *curl)
{
	CURLcode code;

	if (!credentials->secret)
		return CURLE_OK;
	if (!credentials->user) {
		code = curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		return code ? code : curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, credentials->secret);
	}
	code = curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	code = code ? code : curl_easy_setopt(curl, CURLOPT_USERNAME, credentials->user);
	return code ? code : curl_easy_setopt(curl, CURLOPT_PASSWORD, credentials->secret);
}

void push_credentials_free(struct push_credentials *credentials)
{
	push_secret_free(credentials->secret);
	free(credentials->file);
	free(credentials->user);
	*credentials = (struct push_credentials){ 0 };
}
