/* Client of Pyroscope's push API, by libcurl. */

#include "profiler/output/push.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/no_proxy.h"
#include "profiler/output/push.pb-c.h"
#include "profiler/output/push_answer.h"
#include "profiler/output/push_credentials.h"
#include "profiler/output/push_labels.h"
#include "profiler/output/push_secret.h"
#include "profiler/output/push_url.h"

#define TENANT_MAX      150 /* the server's own limit */
#define CONNECT_TIMEOUT 5000L
#define POLL_MS         1000
#define LIFETIME        300L /* of a connection, in seconds */
#define ANSWER_MAX      (1 << 20)

struct push_client {
	CURLM *multi; /* of the one transfer, as that can be woken up */
	CURL *curl;
	atomic_bool stopped;
	struct curl_slist *headers;
	char *url; /* with the API's path */
	struct push_credentials credentials;
	const uint8_t *request;
	size_t request_len, read_len; /* so much of it libcurl has read */
	bool reconnects;              /* for the next one */
	bool begun;                   /* the request */
	size_t answer_len, body_len;
	char body[PUSH_BODY_MAX]; /* of the last answer */
	char curl_error[CURL_ERROR_SIZE];
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;
static CURLcode curl_ready;

static void curl_init_once(void)
{
	curl_ready = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static int is_set(const char *s)
{
	return s && *s;
}

/* Keeps what fits. The whole answer is read so that the connection can be used again, unless it is far longer than any of Pyroscope's. */
static size_t take_body(char *data, size_t size, size_t n, void *arg)
{
	struct push_client *client = arg;
	size_t len = size * n, room = sizeof(client->body) - client->body_len;
	size_t kept = len < room ? len : room;

	client->answer_len += len;
	if (client->answer_len > ANSWER_MAX)
		return 0; /* which ends it, with CURLE_WRITE_ERROR */
	memcpy(client->body + client->body_len, data, kept);
	client->body_len += kept;
	return len;
}

/*
 * Gives libcurl the request, which it can't rewind. For libcurl sends a request again by itself where a connection that was used before
 * ends without a byte of an answer, and a server that stored it would store it once more; now such a request fails.
 */
static size_t give_request(char *into, size_t size, size_t n, void *arg)
{
	struct push_client *client = arg;
	size_t room = size * n, left = client->request_len - client->read_len;
	size_t len = left < room ? left : room;

	if (len)
		memcpy(into, client->request + client->read_len, len);
	client->read_len += len;
	return len;
}

static int add_header(struct push_client *client, const char *line)
{
	struct curl_slist *list = curl_slist_append(client->headers, line);

	if (!list)
		return -ENOMEM;
	client->headers = list;
	return 0;
}

static int tenant_is_valid(const char *tenant)
{
	static const char allowed[] =
	        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!-_.*'()";

	return strlen(tenant) <= TENANT_MAX && tenant[strspn(tenant, allowed)] == '\0' &&
	       strcmp(tenant, ".") && strcmp(tenant, "..");
}

static int make_headers(struct push_client *client, const char *tenant, char *err, size_t err_len)
{
	char line[TENANT_MAX + 32];
	int rc;

	if (is_set(tenant) && !tenant_is_valid(tenant)) {
		snprintf(err, err_len, "the tenant can't be used: at most %d letters, digits and !-_.*'()",
		         TENANT_MAX);
		return -EINVAL;
	}
	rc = add_header(client, "Content-Type: application/proto");
	if (!rc)
		rc = add_header(client, "Expect:"); /* else curl waits a second for "100 Continue" */
	if (!rc && is_set(tenant)) {
		snprintf(line, sizeof(line), "X-Scope-OrgID: %s", tenant);
		rc = add_header(client, line);
	}
	if (rc)
		snprintf(err, err_len, "out of memory");
	return rc;
}

static int read_credentials(struct push_client *client, const struct push_opts *opts, char *err,
                            size_t err_len)
{
	const char *user = is_set(opts->basic_user) ? opts->basic_user : NULL, *fault = NULL;
	const char *file = user ? opts->basic_password_file : opts->bearer_token_file;

	if (is_set(opts->basic_user) != is_set(opts->basic_password_file))
		fault = "a user needs a password file, and a password file a user";
	else if (user && is_set(opts->bearer_token_file))
		fault = "either a user and a password file, or a bearer token file, not both";
	else if (user && strchr(user, ':'))
		fault = "a user's name must not hold a colon";
	if (fault) {
		snprintf(err, err_len, "the server's credentials can't be used: %s", fault);
		return -EINVAL;
	}
	return push_credentials_read(&client->credentials, user, is_set(file) ? file : NULL, err, err_len);
}

static int make_handle(struct push_client *client, long timeout_ms, char *err, size_t err_len)
{
	CURL *curl = client->curl = curl_easy_init();
	char *direct = no_proxy_hosts();
	CURLcode code = CURLE_OK;

	client->multi = curl_multi_init();
	if (!curl || !client->multi || !direct)
		code = CURLE_OUT_OF_MEMORY;
#define SET(option, value) code = code ? code : curl_easy_setopt(curl, option, value)
	SET(CURLOPT_URL, client->url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NOPROXY, direct);
	SET(CURLOPT_POST, 1L);
	SET(CURLOPT_HTTPHEADER, client->headers);
	SET(CURLOPT_USERAGENT, "stallprof");
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, timeout_ms < CONNECT_TIMEOUT ? timeout_ms : CONNECT_TIMEOUT);
	SET(CURLOPT_TIMEOUT_MS, timeout_ms);
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	SET(CURLOPT_MAXLIFETIME_CONN, LIFETIME);
	SET(CURLOPT_READFUNCTION, give_request);
	SET(CURLOPT_READDATA, client);
	SET(CURLOPT_WRITEFUNCTION, take_body);
	SET(CURLOPT_WRITEDATA, client);
	SET(CURLOPT_ERRORBUFFER, client->curl_error);
	SET(CURLOPT_QUICK_EXIT, 1L); /* do not wait for a name that is being looked up */
#undef SET
	free(direct);
	/* Of an older one nothing is wanted. */
	if (!code && curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, 1L))
		code = CURLE_OUT_OF_MEMORY;
	code = code ? code : push_credentials_set(&client->credentials, curl);
	if (!code)
		return 0;
	snprintf(err, err_len, "libcurl can't be set up: %s", curl_easy_strerror(code));
	return code == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EINVAL;
}

struct push_client *push_client_new(const struct push_opts *opts, char *err, size_t err_len)
{
	struct push_client *client;
	int rc;

	pthread_once(&curl_once, curl_init_once);
	client = calloc(1, sizeof(*client));
	if (!client || curl_ready) {
		snprintf(err, err_len, "%s", client ? "libcurl can't be initialised" : "out of memory");
		rc = client ? -EINVAL : -ENOMEM;
		goto out;
	}
	rc = push_url_make(opts->url ? opts->url : "", &client->url, err, err_len);
	if (!rc)
		rc = make_headers(client, opts->tenant, err, err_len);
	if (!rc)
		rc = read_credentials(client, opts, err, err_len);
	if (!rc)
		rc = make_handle(client, opts->timeout_ms > 0 ? opts->timeout_ms : PUSH_TIMEOUT_MS, err,
		                 err_len);
out:
	if (!rc)
		return client;
	push_client_free(client);
	errno = -rc;
	return NULL;
}

void push_client_free(struct push_client *client)
{
	if (!client)
		return;
	curl_easy_cleanup(client->curl);
	curl_multi_cleanup(client->multi);
	curl_slist_free_all(client->headers);
	push_credentials_free(&client->credentials);
	free(client->url);
	free(client);
}

/* The request's bytes, to be freed. NULL when out of memory. Labels without a value are left out. */
static uint8_t *pack_request(const struct push_label *labels, size_t n, const void *profile_gz, size_t len,
                             size_t *packed_len)
{
	Stallprof__Push__Label label[PUSH_LABELS_MAX], *label_ptr[PUSH_LABELS_MAX];
	Stallprof__Push__RawSample sample = STALLPROF__PUSH__RAW_SAMPLE__INIT, *sample_ptr = &sample;
	Stallprof__Push__RawSeries series = STALLPROF__PUSH__RAW_SERIES__INIT, *series_ptr = &series;
	Stallprof__Push__Request request = STALLPROF__PUSH__REQUEST__INIT;
	uint8_t *packed;
	size_t i, used = 0;

	for (i = 0; i < n && used < PUSH_LABELS_MAX; i++) {
		if (!is_set(labels[i].value))
			continue;
		stallprof__push__label__init(&label[used]);
		label[used].name = (char *)labels[i].name;
		label[used].value = (char *)labels[i].value;
		label_ptr[used] = &label[used];
		used++;
	}
	sample.raw_profile.data = (uint8_t *)profile_gz;
	sample.raw_profile.len = len;
	series.n_labels = used;
	series.labels = label_ptr;
	series.n_samples = 1;
	series.samples = &sample_ptr;
	request.n_series = 1;
	request.series = &series_ptr;
	*packed_len = stallprof__push__request__get_packed_size(&request);
	packed = malloc(*packed_len);
	if (packed)
		stallprof__push__request__pack(&request, packed);
	return packed;
}

bool push_client_sent_all(const struct push_client *client)
{
	curl_off_t sent = 0;

	return client->begun && !curl_easy_getinfo(client->curl, CURLINFO_SIZE_UPLOAD_T, &sent) &&
	       sent >= (curl_off_t)client->request_len;
}

/* -ETIMEDOUT: the server may have taken in all of a request that failed so (of an empty one all is sent before there is a connection);
 * -EREMOTEIO: a part of it, and it, or what is before it, may fail at this one; else -EAGAIN. */
static int failed_as(const struct push_client *client, CURLcode code)
{
	curl_off_t sent = 0;

	if (!client->request_len)
		return code == CURLE_OPERATION_TIMEDOUT || code == CURLE_GOT_NOTHING ||
		                       code == CURLE_RECV_ERROR
		               ? -ETIMEDOUT
		               : -EAGAIN;
	/* libcurl would send it again, and no longer knows how much it has sent: at most what it has read. */
	if (code == CURLE_SEND_FAIL_REWIND)
		return client->read_len < client->request_len ? -EREMOTEIO : -ETIMEDOUT;
	if (push_client_sent_all(client))
		return -ETIMEDOUT;
	return !curl_easy_getinfo(client->curl, CURLINFO_SIZE_UPLOAD_T, &sent) && sent > 0 ? -EREMOTEIO
	                                                                                   : -EAGAIN;
}

static int transport_error(struct push_client *client, CURLcode code, char *err, size_t err_len)
{
	const char *words = client->curl_error[0] ? client->curl_error : curl_easy_strerror(code);
	int untrusted = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;

	push_answer_leave_time_out(client->curl_error);
	if (code == CURLE_SEND_FAIL_REWIND)
		words = "the connection ended";
	if (code == CURLE_OUT_OF_MEMORY) {
		snprintf(err, err_len, "push to %s: out of memory", client->url);
		return failed_as(client, code) == -ETIMEDOUT ? -ETIMEDOUT : -ENOMEM;
	}
	snprintf(err, err_len, "push to %s: no answer: %s (%s)", client->url, words,
	         untrusted ? "the host must trust the server's certificate"
	                   : "is the server running and reachable from here?");
	return untrusted ? -EPERM : failed_as(client, code);
}

static CURLcode perform(struct push_client *client)
{
	CURLcode code = CURLE_ABORTED_BY_CALLBACK;
	int running = 1, left;

	if (curl_multi_add_handle(client->multi, client->curl))
		return CURLE_OUT_OF_MEMORY;
	while (running && !atomic_load(&client->stopped)) {
		CURLMsg *done;

		client->begun = true;
		if (curl_multi_perform(client->multi, &running)) {
			code = CURLE_OUT_OF_MEMORY;
			break;
		}
		done = curl_multi_info_read(client->multi, &left);
		if (done)
			code = done->data.result;
		else if (running)
			curl_multi_poll(client->multi, NULL, 0, POLL_MS, NULL);
	}
	curl_multi_remove_handle(client->multi, client->curl);
	return code;
}

/* It may repeat a secret in any header. */
static int check_type(struct push_client *client, char *err, size_t err_len)
{
	const char *type = NULL;

	curl_easy_getinfo(client->curl, CURLINFO_CONTENT_TYPE, &type);
	snprintf(client->body, sizeof(client->body), "%s", type ? type : "");
	push_secret_mask(client->credentials.secret, client->body, strlen(client->body));
	return push_answer_check_type(client->body, client->url, err, err_len);
}

static int post_once(struct push_client *client, const uint8_t *packed, size_t len, char *err, size_t err_len)
{
	long status = 0;
	CURLcode code;

	client->request = packed;
	client->request_len = len;
	client->read_len = 0;
	client->begun = false;
	client->answer_len = client->body_len = 0;
	client->curl_error[0] = '\0';
	code = curl_easy_setopt(client->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	code = code ? code
	            : curl_easy_setopt(client->curl, CURLOPT_FRESH_CONNECT, client->reconnects ? 1L : 0L);
	client->reconnects = false;
	code = code ? code : perform(client);
	client->request = NULL;
	if (code && atomic_load(&client->stopped)) {
		snprintf(err, err_len, "push to %s: given up before there was an answer", client->url);
		return -ECANCELED;
	}
	if (code && client->answer_len <= ANSWER_MAX)
		return transport_error(client, code, err, err_len);
	curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200)
		return check_type(client, err, err_len);
	push_secret_mask(client->credentials.secret, client->body, client->body_len);
	return push_answer_judge(status, client->body, client->body_len, client->url, err, err_len);
}

/* Posts a packed request; `err` only when that fails. Once more if the credentials are refused and there are new ones. */
static int post(struct push_client *client, const uint8_t *packed, size_t len, char *err, size_t err_len)
{
	int rc = post_once(client, packed, len, err, err_len);

	if (rc != -EPERM || !push_credentials_renew(&client->credentials))
		return rc;
	if (!push_credentials_set(&client->credentials, client->curl))
		return post_once(client, packed, len, err, err_len);
	snprintf(err, err_len, "push to %s: out of memory", client->url);
	return -ENOMEM;
}

int push_client_send(struct push_client *client, const struct push_label *labels, size_t n,
                     const void *profile_gz, size_t len, char *err, size_t err_len)
{
	uint8_t *packed;
	size_t packed_len;
	int rc = push_labels_check(labels, n, err, err_len);

	if (rc)
		return rc;
	packed = pack_request(labels, n, profile_gz, len, &packed_len);
	if (!packed) {
		snprintf(err, err_len, "push to %s: out of memory", client->url);
		return -ENOMEM;
	}
	rc = post(client, packed, packed_len, err, err_len);
	free(packed);
	return rc;
}

int push_client_ask(struct push_client *client, char *err, size_t err_len)
{
	int rc = post(client, (const uint8_t *)"", 0, err, err_len);

	if (rc == -EREMOTEIO)
		return -EAGAIN;
	return rc == -EAGAIN || rc == -ETIMEDOUT || rc == -ECANCELED || rc == -ENOMEM ? rc : 0;
}

void push_client_reconnect(struct push_client *client)
{
	client->reconnects = true;
}

void push_client_stop(struct push_client *client)
{
	atomic_store(&client->stopped, true);
	curl_multi_wakeup(client->multi);
}
