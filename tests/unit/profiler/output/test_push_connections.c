/* Tests of push.h: connections that are used again, that end, and that get old. The clock is ours. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profiler/output/push.h"

#define LARGE (16 << 20)

static atomic_long ahead_s;

/* For libcurl. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	if (!result && clock != CLOCK_REALTIME)
		now->tv_sec += atomic_load(&ahead_s);
	return result;
}

/* --- a server with a thread for each connection ------------------------------------------------------------- */

static struct {
	int fd;
	pthread_t thread;
	char url[64];
	atomic_uint connections, requests,
	        silent_at;  /* that request gets no answer, and the connection ends */
	atomic_bool gushes; /* answers have no end */
} server;

/* Reads so much of a body. */
static bool read_bytes(int fd, size_t bytes)
{
	char data[8192];

	while (bytes) {
		ssize_t got = recv(fd, data, bytes < sizeof(data) ? bytes : sizeof(data), 0);

		if (got <= 0)
			return false;
		bytes -= (size_t)got;
	}
	return true;
}

/* Reads a request, and half of a large one. False: the connection has ended. */
static bool read_request(int fd)
{
	char text[8192] = "";
	size_t used = 0;

	for (;;) {
		ssize_t got = recv(fd, text + used, sizeof(text) - 1 - used, 0);
		const char *body, *length;
		size_t whole;

		if (got <= 0)
			return false;
		used += (size_t)got;
		body = memmem(text, used, "\r\n\r\n", 4);
		length = body ? strcasestr(text, "Content-Length: ") : NULL;
		whole = length ? (size_t)(body + 4 - text) + strtoul(length + 16, NULL, 10) : 0;
		if (whole >= LARGE)
			return read_bytes(fd, whole / 2 - used);
		if (length && used >= whole)
			return true;
	}
}

static void gush(int fd)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\n\r\n";
	static const char text[1 << 16];

	if (send(fd, head, sizeof(head) - 1, MSG_NOSIGNAL) > 0)
		while (send(fd, text, sizeof(text), MSG_NOSIGNAL) > 0)
			;
}

static void *serve(void *arg)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\n"
	                             "Content-Length: 0\r\n\r\n";

	int fd = (int)(intptr_t)arg;

	while (read_request(fd) && ++server.requests != server.silent_at)
		if (server.gushes)
			gush(fd);
		else if (send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL) < 0)
			break;
	close(fd);
	return NULL;
}

static void *run_server(void *unused)
{
	pthread_t thread;
	int fd;

	(void)unused;
	while ((fd = accept(server.fd, NULL, NULL)) >= 0) {
		server.connections++;
		assert_int_equal(pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd), 0);
		pthread_detach(thread);
	}
	return NULL;
}

static struct push_client *begin(unsigned int silent_at)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct push_opts opts = { .url = server.url };
	char err[PUSH_ERR_MAX] = "";
	struct push_client *client;
	socklen_t len = sizeof(at);
	int room = 1 << 16;

	server.connections = server.requests = 0;
	server.gushes = false;
	server.silent_at = silent_at;
	server.fd = socket(AF_INET, SOCK_STREAM, 0);
	/* Little that was not read is on the way. */
	assert_int_equal(setsockopt(server.fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)), 0);
	assert_int_equal(bind(server.fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(server.fd, 8), 0);
	assert_int_equal(getsockname(server.fd, (struct sockaddr *)&at, &len), 0);
	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%u", ntohs(at.sin_port));
	assert_int_equal(pthread_create(&server.thread, NULL, run_server, NULL), 0);
	client = push_client_new(&opts, err, sizeof(err));
	if (!client)
		fail_msg("%s", err);
	return client;
}

static void end(struct push_client *client)
{
	push_client_free(client);
	shutdown(server.fd, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	close(server.fd);
}

static char err[PUSH_ERR_MAX];

static int push_bytes(struct push_client *client, const char *profile, size_t len)
{
	const struct push_label label = { "__name__", "block" };

	return push_client_send(client, &label, 1, profile, len, err, sizeof(err));
}

static int push(struct push_client *client)
{
	return push_bytes(client, "profile", 7);
}

/* --- tests ---------------------------------------------------------------------------------------------------- */

/* The server may have stored it: that is for the caller to know. */
static void test_push_connections__nothing_is_sent_twice(void **state)
{
	struct push_client *client = begin(2);

	(void)state;
	assert_int_equal(push(client), 0);
	assert_int_equal(push(client), -ETIMEDOUT);
	assert_non_null(strstr(err, "no answer: the connection ended ("));
	assert_int_equal(server.requests, 2);
	assert_int_equal(push(client), 0);
	assert_int_equal(server.requests, 3);
	end(client);
}

/* What is unread at the end has the connection reset. The server cannot have stored it. */
static void test_push_connections__a_reset_midway(void **state)
{
	struct push_client *client = begin(2);
	char *profile = calloc(1, LARGE);

	(void)state;
	assert_non_null(profile);
	assert_int_equal(push(client), 0);
	assert_int_equal(push_bytes(client, profile, LARGE), -EREMOTEIO);
	assert_int_equal(server.requests, 2);
	assert_int_equal(push(client), 0);
	free(profile);
	end(client);
}

/* It is read as far as anything of it may be told. */
static void test_push_connections__an_answer_without_an_end(void **state)
{
	struct push_client *client = begin(0);

	(void)state;
	server.gushes = true;
	assert_int_equal(push(client), 0);
	server.gushes = false;
	assert_int_equal(push(client), 0);
	assert_int_equal(server.connections, 2);
	end(client);
}

/* As it stores nothing. */
static void test_push_connections__a_question_may_be_sent_again(void **state)
{
	struct push_client *client = begin(2);

	(void)state;
	assert_int_equal(push(client), 0);
	/* By libcurl, over another connection. */
	assert_int_equal(push_client_ask(client, err, sizeof(err)), 0);
	assert_int_equal(server.connections, 2);
	assert_int_equal(server.requests, 3);
	end(client);
}

static void test_push_connections__one_of_its_own(void **state)
{
	struct push_client *client = begin(0);

	(void)state;
	for (int i = 0; i < 6; i++) {
		if (i == 2 || i == 4)
			push_client_reconnect(client);
		assert_int_equal(push(client), 0);
		assert_int_equal(server.connections, 1 + i / 2);
	}
	end(client);
}

/* Of five minutes, though it never was idle for two. */
static void test_push_connections__none_gets_old(void **state)
{
	struct push_client *client = begin(0);

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(push(client), 0);
		assert_int_equal(server.connections, 1);
		atomic_fetch_add(&ahead_s, i < 3 ? 95 : 20);
	}
	assert_int_equal(push(client), 0);
	assert_int_equal(server.connections, 2);
	end(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push_connections__nothing_is_sent_twice),
		cmocka_unit_test(test_push_connections__a_reset_midway),
		cmocka_unit_test(test_push_connections__an_answer_without_an_end),
		cmocka_unit_test(test_push_connections__a_question_may_be_sent_again),
		cmocka_unit_test(test_push_connections__one_of_its_own),
		cmocka_unit_test(test_push_connections__none_gets_old),
	};

	signal(SIGPIPE, SIG_IGN);
	unsetenv("http_proxy");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
