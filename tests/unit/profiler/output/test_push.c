/* Tests of push.h against a server on the loopback: requests, errors, time-outs, stopping. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "profiler/output/push.h"
#include "profiler/output/push.pb-c.h"
#include "profiler/output/push_secret.h"

#define SECRET "s3cret-of-the-test"

/* A server on a free port of the loopback: keeps what it got, answers what it is told. */
static struct {
	struct MHD_Daemon *daemon;
	char url[64];
	unsigned int requests;
	char method[16], path[128], type[64], tenant[64], authorization[256], agent[64];
	uint8_t body[65536];
	size_t body_len;
	unsigned int status;
	const char *answer, *location;
} server;

static void keep(struct MHD_Connection *connection, const char *header, char *into, size_t size)
{
	const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, header);

	snprintf(into, size, "%s", value ? value : "");
}

static enum MHD_Result answer(struct MHD_Connection *connection)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
	        strlen(server.answer), (void *)server.answer, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	MHD_add_response_header(response, "Content-Type", "application/proto");
	if (server.location)
		MHD_add_response_header(response, "Location", server.location);
	result = MHD_queue_response(connection, server.status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result on_request(void *unused, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *len,
                                  void **state)
{
	(void)unused;
	(void)version;
	if (!*state) {
		*state = &server;
		server.requests++;
		server.body_len = 0;
		snprintf(server.method, sizeof(server.method), "%s", method);
		snprintf(server.path, sizeof(server.path), "%s", url);
		keep(connection, "Content-Type", server.type, sizeof(server.type));
		keep(connection, "X-Scope-OrgID", server.tenant, sizeof(server.tenant));
		keep(connection, "Authorization", server.authorization, sizeof(server.authorization));
		keep(connection, "User-Agent", server.agent, sizeof(server.agent));
		return MHD_YES;
	}
	if (*len) {
		if (server.body_len + *len > sizeof(server.body))
			return MHD_NO;
		memcpy(server.body + server.body_len, data, *len);
		server.body_len += *len;
		*len = 0;
		return MHD_YES;
	}
	return answer(connection);
}

static int start_server(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const union MHD_DaemonInfo *info;

	(void)state;
	memset(&server, 0, sizeof(server));
	server.status = 200;
	server.answer = "";
	server.daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, on_request, NULL,
	                                 MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_END);
	if (!server.daemon)
		return -1;
	info = MHD_get_daemon_info(server.daemon, MHD_DAEMON_INFO_BIND_PORT);
	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%u", info->port);
	return 0;
}

static int stop_server(void **state)
{
	(void)state;
	if (server.daemon)
		MHD_stop_daemon(server.daemon);
	return 0;
}

static const struct push_label good_labels[] = {
	{ "__name__", "block" },
	{ "service_name", "trainer" },
	{ "rank", "" },
	{ "host", "node-1" },
};

static const uint8_t profile[] = { 0x1f, 0x8b, 0x08, 0x00, 0xff };

static struct push_client *client_for(const struct push_opts *opts)
{
	char err[PUSH_ERR_MAX] = "";
	struct push_client *client = push_client_new(opts, err, sizeof(err));

	if (!client)
		fail_msg("%s", err);
	return client;
}

/* Sends the good labels; err has room for PUSH_ERR_MAX bytes. */
static int send_once(const struct push_opts *opts, char *err)
{
	struct push_client *client = client_for(opts);
	int rc = push_client_send(client, good_labels, 4, profile, sizeof(profile), err, PUSH_ERR_MAX);

	push_client_free(client);
	return rc;
}

static void test_push__sends_one_series_with_its_labels_and_profile(void **state)
{
	struct push_opts opts = { .url = server.url };
	Stallprof__Push__Request *request;
	Stallprof__Push__RawSeries *series;
	char err[PUSH_ERR_MAX];

	(void)state;
	assert_int_equal(send_once(&opts, err), 0);
	assert_string_equal(server.method, "POST");
	assert_string_equal(server.path, "/push.v1.PusherService/Push");
	assert_string_equal(server.type, "application/proto");
	assert_string_equal(server.agent, "stallprof");
	assert_string_equal(server.tenant, "");
	assert_string_equal(server.authorization, "");
	request = stallprof__push__request__unpack(NULL, server.body_len, server.body);
	assert_non_null(request);
	assert_int_equal(request->n_series, 1);
	series = request->series[0];
	assert_int_equal(series->n_labels, 3); /* the label without a value is left out */
	assert_string_equal(series->labels[0]->name, "__name__");
	assert_string_equal(series->labels[0]->value, "block");
	assert_string_equal(series->labels[2]->name, "host");
	assert_int_equal(series->n_samples, 1);
	assert_int_equal(series->samples[0]->raw_profile.len, sizeof(profile));
	assert_memory_equal(series->samples[0]->raw_profile.data, profile, sizeof(profile));
	stallprof__push__request__free_unpacked(request, NULL);
}

static void test_push__keeps_the_path_of_the_url(void **state)
{
	char url[128], err[PUSH_ERR_MAX];
	struct push_opts opts = { .url = url };

	(void)state;
	snprintf(url, sizeof(url), "%s/pyroscope//", server.url);
	assert_int_equal(send_once(&opts, err), 0);
	assert_string_equal(server.path, "/pyroscope/push.v1.PusherService/Push");
}

static void write_file(char path[32], const char *text, size_t len)
{
	int fd;

	snprintf(path, 32, "/tmp/stallprof-push-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	close(fd);
}

static void test_push__sends_tenant_and_basic_credentials(void **state)
{
	char path[32], err[PUSH_ERR_MAX];
	struct push_opts opts = {
		.url = server.url, .tenant = "team-a", .basic_user = "me", .basic_password_file = path
	};

	(void)state;
	write_file(path, "pass word\nsecond line\n", strlen("pass word\nsecond line\n"));
	assert_int_equal(send_once(&opts, err), 0);
	assert_string_equal(server.tenant, "team-a");
	assert_string_equal(server.authorization, "Basic bWU6cGFzcyB3b3Jk");
	unlink(path);
}

static void test_push__sends_a_bearer_token(void **state)
{
	char path[32], err[PUSH_ERR_MAX];
	struct push_opts opts = { .url = server.url, .bearer_token_file = path };

	(void)state;
	write_file(path, SECRET "\r\n", strlen(SECRET "\r\n"));
	assert_int_equal(send_once(&opts, err), 0);
	assert_string_equal(server.authorization, "Bearer " SECRET);
	unlink(path);
}

static void test_push__uses_a_connection_more_than_once(void **state)
{
	struct push_opts opts = { .url = server.url };
	struct push_client *client = client_for(&opts);
	char err[PUSH_ERR_MAX];
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		server.status = i == 1 ? 503 : 200;
		assert_int_equal(
		        push_client_send(client, good_labels, 4, profile, sizeof(profile), err, sizeof(err)),
		        i == 1 ? -EREMOTEIO : 0);
	}
	assert_int_equal(server.requests, 3);
	push_client_free(client);
}

static void test_push__judges_every_status(void **state)
{
	static const struct {
		unsigned int status;
		int rc;
	} table[] = {
		{ 204, -ENOENT },    { 302, -ENOENT },    { 400, -EINVAL },    { 401, -EPERM },
		{ 403, -EPERM },     { 404, -ENOENT },    { 408, -ETIMEDOUT }, { 405, -ENOENT },
		{ 410, -ENOENT },    { 413, -EMSGSIZE },  { 422, -EINVAL },    { 429, -EAGAIN },
		{ 500, -EREMOTEIO }, { 502, -EREMOTEIO }, { 503, -EREMOTEIO }, { 504, -ETIMEDOUT },
		{ 599, -EREMOTEIO },
	};
	char err[PUSH_ERR_MAX], number[16];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct push_opts opts = { .url = server.url };

		server.status = table[i].status;
		assert_int_equal(send_once(&opts, err), table[i].rc);
		snprintf(number, sizeof(number), "HTTP %u", table[i].status);
		assert_non_null(strstr(err, number));
		assert_non_null(strstr(err, server.url));
		assert_null(strchr(err, '\n'));
	}
}

static void test_push__says_what_the_server_said(void **state)
{
	struct push_opts opts = { .url = server.url };
	char err[PUSH_ERR_MAX];

	(void)state;
	server.status = 400;
	server.answer = "{\"code\":\"invalid_argument\",\"message\":\"profile is \\\"too\\\" old\"}";
	assert_int_equal(send_once(&opts, err), -EINVAL);
	assert_non_null(strstr(err, "profile is \"too\" old"));
}

static void test_push__never_shows_a_token_that_the_server_repeats(void **state)
{
	char path[32], err[PUSH_ERR_MAX];
	struct push_opts opts = { .url = server.url, .bearer_token_file = path };

	(void)state;
	write_file(path, "ab/cd=\n", strlen("ab/cd=\n"));
	server.status = 401;
	server.answer = "{\"code\":\"unauthenticated\",\"message\":\"invalid token ab\\/cd\\u003d\"}";
	assert_int_equal(send_once(&opts, err), -EPERM);
	assert_null(strstr(err, "ab/cd="));
	assert_non_null(strstr(err, "invalid token ***"));
	assert_non_null(strstr(err, "or the bearer token file"));
	unlink(path);
}

static void test_push__says_what_the_server_said_last(void **state)
{
	struct push_opts opts = { .url = server.url };
	struct push_client *client = client_for(&opts);
	char err[PUSH_ERR_MAX];

	(void)state;
	server.status = 400;
	server.answer = "first answer";
	assert_int_equal(push_client_send(client, good_labels, 4, profile, 1, err, sizeof(err)), -EINVAL);
	server.answer = "second answer";
	assert_int_equal(push_client_send(client, good_labels, 4, profile, 1, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "HTTP 400: second answer"));
	push_client_free(client);
}

static void test_push__does_not_follow_redirects(void **state)
{
	struct push_opts opts = { .url = server.url };
	char err[PUSH_ERR_MAX], target[128];

	(void)state;
	snprintf(target, sizeof(target), "%s/elsewhere", server.url);
	server.status = 307;
	server.location = target;
	assert_int_equal(send_once(&opts, err), -ENOENT);
	assert_int_equal(server.requests, 1);
	assert_non_null(strstr(err, "redirect"));
}

static void test_push__no_answer_may_be_tried_again(void **state)
{
	struct push_opts opts = { .url = server.url, .timeout_ms = 2000 };
	char err[PUSH_ERR_MAX];

	(void)state;
	MHD_stop_daemon(server.daemon);
	server.daemon = NULL;
	assert_int_equal(send_once(&opts, err), -EAGAIN);
	assert_non_null(strstr(err, "no answer"));
}

/* Takes connections and requests, and answers none. */
static int silent_server(char url[64])
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(at);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	snprintf(url, 64, "http://127.0.0.1:%u", ntohs(at.sin_port));
	return fd;
}

static void test_push__silence_after_all_was_sent_is_told_apart(void **state)
{
	char url[64], err[PUSH_ERR_MAX];
	int fd = silent_server(url);
	struct push_opts opts = { .url = url, .timeout_ms = 300 };
	struct push_client *client = client_for(&opts);

	(void)state;
	assert_int_equal(push_client_send(client, good_labels, 4, profile, 1, err, sizeof(err)), -ETIMEDOUT);
	assert_non_null(strstr(err, "no answer"));
	assert_int_equal(push_client_ask(client, err, sizeof(err)), -ETIMEDOUT);
	close(fd);
	assert_int_equal(push_client_ask(client, err, sizeof(err)), -EAGAIN);
	push_client_free(client);
}

/* Of a large request a part is sent, and then nothing is taken any more: it may be this one that something fails at. */
static void test_push__a_connection_that_breaks_midway(void **state)
{
	char url[64], err[PUSH_ERR_MAX];
	int fd = silent_server(url);
	struct push_opts opts = { .url = url, .timeout_ms = 300 };
	struct push_client *client = client_for(&opts);
	size_t len = 32 << 20;
	void *large = calloc(1, len);

	(void)state;
	assert_non_null(large);
	assert_int_equal(push_client_send(client, good_labels, 4, large, len, err, sizeof(err)), -EREMOTEIO);
	free(large);
	push_client_free(client);
	close(fd);
}

/* Takes one connection, and breaks off its answer to the request. */
static void *answer_half(void *fd)
{
	static const char half[] = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";
	int connection = accept(*(int *)fd, NULL, NULL);
	char request[4096];

	assert_true(connection >= 0);
	assert_true(recv(connection, request, sizeof(request), 0) > 0);
	assert_int_equal(send(connection, half, sizeof(half) - 1, MSG_NOSIGNAL), sizeof(half) - 1);
	shutdown(connection, SHUT_WR);
	while (recv(connection, request, sizeof(request), 0) > 0)
		;
	close(connection);
	return NULL;
}

/* Whatever goes wrong after all was sent: the server may have stored it. */
static void test_push__an_answer_that_breaks_off_is_none(void **state)
{
	char url[64], err[PUSH_ERR_MAX];
	int fd = silent_server(url);
	struct push_opts opts = { .url = url };
	struct push_client *client = client_for(&opts);
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, answer_half, &fd), 0);
	assert_int_equal(push_client_send(client, good_labels, 4, profile, 1, err, sizeof(err)), -ETIMEDOUT);
	assert_non_null(strstr(err, "no answer"));
	push_client_free(client);
	pthread_join(thread, NULL);
	close(fd);
}

static void test_push__a_server_that_answers_anything_answers(void **state)
{
	struct push_opts opts = { .url = server.url };
	struct push_client *client = client_for(&opts);
	char err[PUSH_ERR_MAX];

	(void)state;
	server.status = 400;
	assert_int_equal(push_client_ask(client, err, sizeof(err)), 0);
	assert_int_equal(server.body_len, 0);
	server.status = 503;
	assert_int_equal(push_client_ask(client, err, sizeof(err)), -EAGAIN);
	push_client_free(client);
}

static void *stop_soon(void *client)
{
	const struct timespec soon = { .tv_nsec = 100000000 };

	nanosleep(&soon, NULL);
	push_client_stop(client);
	return NULL;
}

static void test_push__can_be_stopped_while_it_waits(void **state)
{
	char url[64], err[PUSH_ERR_MAX] = "";
	int fd = silent_server(url);
	struct push_opts opts = { .url = url };
	struct push_client *client = client_for(&opts);
	time_t began = time(NULL);
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, stop_soon, client), 0);
	assert_int_equal(push_client_send(client, good_labels, 4, profile, 1, err, sizeof(err)), -ECANCELED);
	assert_true(time(NULL) - began < 5);
	pthread_join(thread, NULL);
	assert_int_equal(push_client_send(client, good_labels, 4, profile, 1, err, sizeof(err)), -ECANCELED);
	push_client_free(client);
	close(fd);
}

static void test_push__refuses_bad_options(void **state)
{
	static const struct push_opts table[] = {
		{ .url = NULL },
		{ .url = "" },
		{ .url = "127.0.0.1:4040" },
		{ .url = "ftp://127.0.0.1/" },
		{ .url = "file:///etc/passwd" },
		{ .url = "gopher://127.0.0.1/" },
		{ .url = "http://" },
		{ .url = "http://127.0.0.1:99999/" },
		{ .url = "http://me:" SECRET "@127.0.0.1/" },
		{ .url = "http://127.0.0.1/?token=" SECRET },
		{ .url = "http://127.0.0.1/#x" },
		{ .url = "http://127.0.0.1/a b" },
		{ .url = "http://127.0.0.1/", .tenant = "a\r\nX-Evil: 1" },
		{ .url = "http://127.0.0.1/", .tenant = "a/b" },
		{ .url = "http://127.0.0.1/", .tenant = ".." },
		{ .url = "http://127.0.0.1/", .basic_user = "me" },
		{ .url = "http://127.0.0.1/", .basic_password_file = "/dev/null" },
		{ .url = "http://127.0.0.1/", .basic_user = "a:b", .basic_password_file = "/proc/self/comm" },
		{ .url = "http://127.0.0.1/", .basic_user = "me", .basic_password_file = "/dev/null" },
		{ .url = "http://127.0.0.1/", .bearer_token_file = "/nonexistent/token" },
		{ .url = "http://127.0.0.1/", .bearer_token_file = "/tmp" },
		{ .url = "http://127.0.0.1/",
		  .basic_user = "me",
		  .basic_password_file = "/dev/null",
		  .bearer_token_file = "/dev/null" },
	};
	char err[PUSH_ERR_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		err[0] = '\0';
		errno = 0;
		if (push_client_new(&table[i], err, sizeof(err)))
			fail_msg("row %zu is taken", i);
		assert_true(errno > 0);
		assert_true(strlen(err) > 20);
		assert_null(strchr(err, '\n'));
		assert_null(strstr(err, SECRET));
	}
}

static void test_push__sends_nothing_with_bad_labels(void **state)
{
	struct push_opts opts = { .url = server.url };
	struct push_client *client = client_for(&opts);
	struct push_label labels[PUSH_LABELS_MAX + 1];
	char names[PUSH_LABELS_MAX + 1][8], err[PUSH_ERR_MAX];
	size_t i;

	(void)state;
	for (i = 0; i <= PUSH_LABELS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "l%zu", i);
		labels[i] = (struct push_label){ i ? names[i] : "__name__", "v" };
	}
	assert_int_equal(push_client_send(client, labels, PUSH_LABELS_MAX + 1, profile, 1, err, sizeof(err)),
	                 -EINVAL);
	assert_int_equal(server.requests, 0);
	assert_int_equal(push_client_send(client, labels, PUSH_LABELS_MAX, profile, 1, err, sizeof(err)), 0);
	push_client_free(client);
}

static void test_push__takes_an_answer_of_any_size(void **state)
{
	static char large[1 << 20]; /* the server's thread may be at it still when its end has come here */
	struct push_opts opts = { .url = server.url };
	char err[PUSH_ERR_MAX];

	(void)state;
	memset(large, 'w', sizeof(large) - 1);
	server.status = 500;
	server.answer = large;
	assert_int_equal(send_once(&opts, err), -EREMOTEIO);
	assert_non_null(strstr(err, "wwww"));
	assert_non_null(strstr(err, "try again"));
}

static void test_push__frees_null(void **state)
{
	(void)state;
	push_client_free(NULL);
	push_secret_free(NULL);
}

#define WITH_SERVER(name) cmocka_unit_test_setup_teardown(name, start_server, stop_server)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(test_push__sends_one_series_with_its_labels_and_profile),
		WITH_SERVER(test_push__keeps_the_path_of_the_url),
		WITH_SERVER(test_push__sends_tenant_and_basic_credentials),
		WITH_SERVER(test_push__sends_a_bearer_token),
		WITH_SERVER(test_push__uses_a_connection_more_than_once),
		WITH_SERVER(test_push__judges_every_status),
		WITH_SERVER(test_push__says_what_the_server_said),
		WITH_SERVER(test_push__never_shows_a_token_that_the_server_repeats),
		WITH_SERVER(test_push__says_what_the_server_said_last),
		WITH_SERVER(test_push__does_not_follow_redirects),
		WITH_SERVER(test_push__no_answer_may_be_tried_again),
		cmocka_unit_test(test_push__silence_after_all_was_sent_is_told_apart),
		cmocka_unit_test(test_push__a_connection_that_breaks_midway),
		cmocka_unit_test(test_push__an_answer_that_breaks_off_is_none),
		WITH_SERVER(test_push__a_server_that_answers_anything_answers),
		cmocka_unit_test(test_push__can_be_stopped_while_it_waits),
		cmocka_unit_test(test_push__refuses_bad_options),
		WITH_SERVER(test_push__sends_nothing_with_bad_labels),
		WITH_SERVER(test_push__takes_an_answer_of_any_size),
		cmocka_unit_test(test_push__frees_null),
	};

	unsetenv("http_proxy");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
