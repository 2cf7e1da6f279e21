/* Tests of scrape_server.h: how a server ends, and how it does not begin. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/config/listen_address.h"
#include "profiler/scrape/scrape_bytes.h"
#include "profiler/scrape/scrape_server.h"
#include "profiler/scrape/scrape_token.h"
#include "symbolizer/base/clock.h"

#define SECOND 1000000000ULL

static atomic_uint closed_twice;
static atomic_bool is_asked, was_stopped;

int close(int fd);

/* In place of libc's, also for libmicrohttpd. */
int close(int fd)
{
	int result = (int)syscall(SYS_close, fd);

	if (result && errno == EBADF)
		atomic_fetch_add(&closed_twice, 1);
	return result;
}

/* Takes 5 s, unless it has to stop. */
static void answer_slowly(void *ctx, const char *path, const struct scrape_request *request,
                          struct scrape_answer *answer)
{
	(void)ctx;
	(void)path;
	atomic_store(&is_asked, true);
	for (int i = 0; i < 5000 && !atomic_load(scrape_request_stops(request)); i++)
		usleep(1000);
	atomic_store(&was_stopped, atomic_load(scrape_request_stops(request)));
	answer->status = 200;
	answer->type = "text/plain";
	answer->body = scrape_bytes_text("x");
}

static const struct scrape_handler handler = { .answer = answer_slowly };

static int connect_to(const char *address)
{
	struct listen_address parsed;
	int fd;

	assert_true(listen_address_parse(address, &parsed));
	fd = socket(parsed.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&parsed.address, parsed.length), 0);
	return fd;
}

/* Who frees it is the loop, which records. */
static void test_scrape_server__an_answer_is_stopped_at_the_end(void **state)
{
	const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
	char err[512] = "";
	struct scrape_server *server = scrape_server_new("127.0.0.1:0", NULL, &handler, err, sizeof(err));
	uint64_t began;
	int fd;

	(void)state;
	assert_non_null(server);
	fd = connect_to(scrape_server_address(server));
	assert_int_equal(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	while (!atomic_load(&is_asked))
		usleep(1000);
	began = monotonic_ns();
	scrape_server_free(server);
	assert_true(atomic_load(&was_stopped));
	assert_true(monotonic_ns() - began < SECOND);
	close(fd);
	assert_int_equal(atomic_load(&closed_twice), 0);
}

/* More than have a place: a server that has no place for another one does not listen. */
static void test_scrape_server__ends_with_many_connections(void **state)
{
	char err[512] = "";
	struct scrape_server *server = scrape_server_new("127.0.0.1:0", NULL, &handler, err, sizeof(err));
	int fd[SCRAPE_CONNECTIONS + 8];
	uint64_t began;

	(void)state;
	assert_non_null(server);
	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		fd[i] = connect_to(scrape_server_address(server));
	usleep(200000);
	began = monotonic_ns();
	scrape_server_free(server);
	assert_true(monotonic_ns() - began < 2 * SECOND);
	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		close(fd[i]);
}

/* All that comes back until the server closes. */
static void ask(const struct scrape_server *server, const char *request, char answer[1024])
{
	int fd = connect_to(scrape_server_address(server));
	ssize_t n, length = 0;

	assert_int_equal(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	while ((n = read(fd, answer + length, (size_t)(1023 - length))) > 0)
		length += n;
	answer[length] = '\0';
	close(fd);
}

/* Bodies that are announced are not waited for. */
static void test_scrape_server__reads_no_bodies(void **state)
{
	char file[] = "/tmp/test_scrape_server.XXXXXX", err[512] = "", answer[1024];
	int fd = mkstemp(file);
	struct scrape_server *server;
	struct scrape_token *token;

	(void)state;
	assert_int_equal(write(fd, "secret\n", 7), 7);
	token = scrape_token_new(file, err, sizeof(err));
	assert_non_null(token);
	server = scrape_server_new("127.0.0.1:0", token, &handler, err, sizeof(err));
	assert_non_null(server);
	atomic_store(&is_asked, false);
	ask(server, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nx", answer);
	assert_ptr_equal(strstr(answer, "HTTP/1.1 401 "), answer);
	ask(server,
	    "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nContent-Length: "
	    "1000000000\r\n\r\nx",
	    answer);
	assert_ptr_equal(strstr(answer, "HTTP/1.1 405 "), answer);
	ask(server,
	    "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nContent-Length: 3\r\n\r\nxyz",
	    answer);
	assert_string_equal(answer, "");
	assert_false(atomic_load(&is_asked));
	scrape_server_free(server);
	scrape_token_free(token);
	unlink(file);
	close(fd);
}

static bool fails(char err[512])
{
	return !scrape_server_new("127.0.0.1:0", NULL, &handler, err, 512);
}

static int free_descriptor(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

/* libmicrohttpd closes the socket in the first case, and does not in the second. */
static void test_scrape_server__what_does_not_begin_leaves_nothing(void **state)
{
	pthread_attr_t usual, huge;
	struct rlimit files, few;
	int before = free_descriptor();
	char err[512] = "";

	(void)state;
	/* No thread: its stack has no room. */
	assert_int_equal(pthread_getattr_default_np(&usual), 0);
	pthread_attr_init(&huge);
	assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
	assert_int_equal(pthread_setattr_default_np(&huge), 0);
	assert_true(fails(err));
	assert_int_equal(pthread_setattr_default_np(&usual), 0);
	assert_non_null(strstr(err, "Resource temporarily unavailable"));
	assert_int_equal(atomic_load(&closed_twice), 0);
	assert_int_equal(free_descriptor(), before);
	/* No descriptor behind the socket's. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	few = files;
	few.rlim_cur = (rlim_t)(before + 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_true(fails(err));
	assert_non_null(strstr(err, "Too many open files"));
	assert_int_equal(atomic_load(&closed_twice), 0);
	assert_int_equal(free_descriptor(), before);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scrape_server__what_does_not_begin_leaves_nothing),
		cmocka_unit_test(test_scrape_server__an_answer_is_stopped_at_the_end),
		cmocka_unit_test(test_scrape_server__ends_with_many_connections),
		cmocka_unit_test(test_scrape_server__reads_no_bodies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
