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
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/config/listen_address.h"
#include "profiler/scrape/scrape_bytes.h"
#include "profiler/scrape/scrape_server.h"
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
