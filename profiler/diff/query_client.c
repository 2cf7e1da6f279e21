/* Client of Pyroscope's query API, by libcurl. */

#include "profiler/diff/query_client.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/no_proxy.h"
#include "profiler/output/push_answer.h"
#include "profiler/output/push_secret.h"

#define SERVICE_PATH    "/querier.v1.QuerierService/"
#define CONNECT_TIMEOUT 5000L

struct query_client {
	CURL *curl;
	struct curl_slist *headers;
	char *url, *secret;
	struct query_answer answer;
	bool too_large;
	char curl_error[CURL_ERROR_SIZE];
};

static bool is_set(const char *text)
{
	return text && *text;
}

static size_t take_bytes(char *data, size_t size, size_t n, void *context)
{
	struct query_client *client = context;
	struct query_answer *answer = &client->answer;
	size_t length = size * n, room = answer->room ? answer->room : 65536;
	uint8_t *bytes;

	client->too_large = answer->size + length > QUERY_BYTES_MAX;
	if (client->too_large)
		return 0;
	while (room < answer->size + length)
		room *= 2;
	if (room != answer->room) {
		bytes = realloc(answer->bytes, room);
		if (!bytes)
			return 0;
		answer->bytes = bytes;
		answer->room = room;
	}
	memcpy(answer->bytes + answer->size, data, length);
	answer->size += length;
	return length;
}

/* --- making one ------------------------------------------------------------------------------------------- */

static int add_header(struct query_client *client, const char *line)
{
	struct curl_slist *list = curl_slist_append(client->headers, line);

	if (!list)
		return -ENOMEM;
	client->headers = list;
	return 0;
}

static int make_headers(struct query_client *client, const char *tenant, char *err, size_t err_size)
{
	char line[256];
	int result = add_header(client, "Content-Type: application/proto");

	if (is_set(tenant) && (strlen(tenant) > 150 || strpbrk(tenant, "\r\n"))) {
		snprintf(err, err_size, "the tenant cannot be used: at most 150 characters of one line");
		return -EINVAL;
	}
	if (!result && is_set(tenant)) {
		snprintf(line, sizeof(line), "X-Scope-OrgID: %s", tenant);
		result = add_header(client, line);
	}
	if (!result)
		result = add_header(client, "Expect:"); /* else curl waits a second for "100 Continue" */
	if (result)
		snprintf(err, err_size, "no memory left");
	return result;
}

static int set_credentials(struct query_client *client, const struct query_access *access, char *err,
                           size_t err_size)
{
	const char *file =
	        is_set(access->bearer_token_file) ? access->bearer_token_file : access->basic_password_file;
	const char *wrong = NULL;
	CURLcode code;
	int result;

	if (is_set(access->basic_user) != is_set(access->basic_password_file))
		wrong = "--basic-user needs --basic-password-file, and the other way round";
	else if (is_set(access->basic_user) && is_set(access->bearer_token_file))
		wrong = "either --basic-user or --bearer-token-file, not both";
	if (wrong) {
		snprintf(err, err_size, "%s", wrong);
		return -EINVAL;
	}
	if (!is_set(file))
		return 0;
	result = push_secret_read(file, &client->secret, err, err_size);
	if (result)
		return result;
	code = curl_easy_setopt(client->curl, CURLOPT_HTTPAUTH,
	                        (long)(is_set(access->bearer_token_file) ? CURLAUTH_BEARER : CURLAUTH_BASIC));
	if (is_set(access->bearer_token_file)) {
		code = code ? code : curl_easy_setopt(client->curl, CURLOPT_XOAUTH2_BEARER, client->secret);
	} else {
		code = code ? code : curl_easy_setopt(client->curl, CURLOPT_USERNAME, access->basic_user);
		code = code ? code : curl_easy_setopt(client->curl, CURLOPT_PASSWORD, client->secret);
	}
	if (code)
		snprintf(err, err_size, "libcurl: %s", curl_easy_strerror(code));
	return code ? -EINVAL : 0;
}

static int make_handle(struct query_client *client, char *err, size_t err_size)
{
	CURL *curl = client->curl = curl_easy_init();
	char *direct = no_proxy_hosts();
	CURLcode code = curl && direct ? CURLE_OK : CURLE_OUT_OF_MEMORY;

#define SET(option, value) code = code ? code : curl_easy_setopt(curl, option, value)
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NOPROXY, direct);
	SET(CURLOPT_POST, 1L);
	SET(CURLOPT_HTTPHEADER, client->headers);
	SET(CURLOPT_USERAGENT, "stallprof");
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT);
	SET(CURLOPT_TIMEOUT_MS, (long)QUERY_TIMEOUT_MS);
	SET(CURLOPT_ACCEPT_ENCODING, "gzip");
	SET(CURLOPT_WRITEFUNCTION, take_bytes);
	SET(CURLOPT_WRITEDATA, client);
	SET(CURLOPT_ERRORBUFFER, client->curl_error);
#undef SET
	free(direct);
	if (!code)
		return 0;
	snprintf(err, err_size, "libcurl cannot be set up: %s", curl_easy_strerror(code));
	return code == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EINVAL;
}

struct query_client *query_client_new(const char *url, const struct query_access *access, char *err,
                                      size_t err_size)
{
	struct query_client *client = calloc(1, sizeof(*client));
	int result = client && (client->url = strdup(url)) ? 0 : -ENOMEM;

	if (result)
		snprintf(err, err_size, "no memory left");
	else
		result = make_headers(client, access->tenant, err, err_size);
	if (!result)
		result = make_handle(client, err, err_size);
	if (!result)
		result = set_credentials(client, access, err, err_size);
	if (!result)
		return client;
	query_client_free(client);
	errno = -result;
	return NULL;
}

void query_client_free(struct query_client *client)
{
	if (!client)
		return;
	curl_easy_cleanup(client->curl);
	curl_slist_free_all(client->headers);
	push_secret_free(client->secret);
	free(client->answer.bytes);
	free(client->url);
	free(client);
}

/* --- asking ----------------------------------------------------------------------------------------------- */

/* What a status that is not 200 means to the caller, and what to do. */
static const struct {
	long status;
	int error;
	const char *advice;
} statuses[] = {
	{ 400, -EINVAL, "the server refuses the query: check labels and times" },
	{ 401, -EPERM, "check --basic-user and its file, --bearer-token-file, or --tenant" },
	{ 403, -EPERM, "these credentials may not read there" },
	{ 404, -ENOENT, "no Pyroscope query API there; check host and port" },
	{ 422, -EINVAL, "the server refuses the query: check labels and times" },
	{ 429, -EIO, "a limit of the server is reached; ask for a shorter time" },
};

static int judge_status(struct query_client *client, long status, const char *url, char *err, size_t err_size)
{
	const char *advice = status >= 500 ? "the server, or a proxy in front of it, has failed"
	                                   : "is this a Pyroscope server?";
	int error = status >= 500 ? -EIO : -EINVAL;
	char words[400];

	if (client->secret)
		push_secret_mask(client->secret, (char *)client->answer.bytes, client->answer.size);
	push_answer_words((const char *)client->answer.bytes, client->answer.size, words, sizeof(words));
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		if (statuses[i].status != status)
			continue;
		error = statuses[i].error;
		advice = statuses[i].advice;
	}
	snprintf(err, err_size, "%s: HTTP %ld%s%s (%s)", url, status, *words ? ": " : "", words, advice);
	return error;
}

static int transport_fault(struct query_client *client, CURLcode code, const char *url, char *err,
                           size_t err_size)
{
	if (client->too_large) {
		snprintf(err, err_size, "%s: the answer is above 1 GiB: ask for a shorter time", url);
		return -EFBIG;
	}
	snprintf(err, err_size, "%s: no answer: %s (is the server running and reachable from here?)", url,
	         *client->curl_error ? client->curl_error : curl_easy_strerror(code));
	return -EIO;
}

int query_client_post(struct query_client *client, const char *method, const void *body, size_t size,
                      struct query_answer *answer, char *err, size_t err_size)
{
	char url[1024];
	long status = 0;
	CURLcode code;

	snprintf(url, sizeof(url), "%s" SERVICE_PATH "%s", client->url, method);
	client->answer.size = 0;
	client->too_large = false;
	*client->curl_error = '\0';
	code = curl_easy_setopt(client->curl, CURLOPT_URL, url);
	code = code ? code : curl_easy_setopt(client->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	code = code ? code : curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, body);
	code = code ? code : curl_easy_perform(client->curl);
	if (code)
		return transport_fault(client, code, url, err, err_size);
	curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200)
		return judge_status(client, status, url, err, err_size);
	*answer = client->answer;
	return 0;
}
