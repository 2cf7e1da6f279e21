/* Tests of sink.h: delivery to servers and files that work, fail, hang and come back. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "pprof/pprof_file.h"
#include "pprof/profile.h"
#include "symbolizer/base/clock.h"
#include "profiler/config/config.h"
#include "profiler/output/sink.h"
#include "profiler/format/stamp.h"

#define ROOM   (1 << 20)
#define SECOND 1000000000ULL

static unsigned int n_said;
static char last_said[1024];

static char all_said[65536];

static void take_line(const char *line)
{
	size_t used = strlen(all_said);

	n_said++;
	snprintf(last_said, sizeof(last_said), "%s", line);
	snprintf(all_said + used, sizeof(all_said) - used, "%s\n", line);
}

static struct profile *window_profile(size_t room, size_t n_stacks)
{
	const struct profile_value_type types[] = { { "contentions", "count" },
		                                    { "delay", "nanoseconds" },
		                                    { "cpu", "nanoseconds" } };
	const int64_t values[] = { 3, 500, 70 };
	struct profile *p = profile_new(types, 3, types[0], 1, room);

	assert_non_null(p);
	profile_set_time(p, 1700000000000000000, 10);
	for (size_t i = 1; i <= n_stacks; i++) {
		int64_t id = profile_location(p, 0, i, NULL, 0);

		assert_int_equal(profile_add_sample(p, &id, 1, values, NULL, 0), 0);
	}
	return p;
}

static struct sink *sink_to(const struct config *config, const char *output)
{
	char err[1024] = "";
	struct sink *sink = sink_new(config, output, take_line, err, sizeof(err));

	if (!sink)
		fail_msg("%s", err);
	n_said = 0;
	all_said[0] = '\0';
	return sink;
}

static struct config *config_pushing_to(const char *url)
{
	struct config *config = config_default();
	char err[1024] = "";

	assert_non_null(config);
	if (url && config_set(config, "push.url", url, err, sizeof(err)))
		fail_msg("%s", err);
	return config;
}

static void pause_ms(unsigned int ms)
{
	const struct timespec step = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&step, NULL);
}

/* Until nothing more is to be done, for 30 s at most. */
static void settle(struct sink *sink)
{
	for (int i = 0; i < 15000 && (sink_poll(sink), sink_waiting(sink)); i++)
		pause_ms(2);
	assert_int_equal(sink_waiting(sink), 0);
	sink_poll(sink);
}

static int end(struct sink *sink, uint64_t push_ns)
{
	sink_end(sink, NULL, push_ns);
	for (int i = 0; i < 15000 && !sink_poll(sink); i++)
		pause_ms(2);
	assert_true(sink_poll(sink));
	return sink_finish(sink);
}

/* --- a server ----------------------------------------------------------------------------------------------- */

static struct {
	struct MHD_Daemon *daemon;
	int silent; /* a socket that nobody accepts from; -1 */
	uint16_t port;
	char url[64];
	atomic_uint status, requests, taken;
} server = { .silent = -1 };

static enum MHD_Result on_request(void *unused, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *len,
                                  void **state)
{
	struct MHD_Response *response;
	enum MHD_Result result;

	(void)unused, (void)url, (void)method, (void)version, (void)data;
	if (!*state || *len) {
		*len = 0, *state = &server;
		return MHD_YES;
	}
	server.requests++;
	server.taken += server.status == 200;
	response = MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
	MHD_add_response_header(response, "Content-Type", "application/proto");
	result = MHD_queue_response(connection, server.status, response);
	MHD_destroy_response(response);
	return result;
}

static struct sockaddr_in address(void)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		                     .sin_port = htons(server.port),
		                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void start_server(unsigned int status)
{
	struct sockaddr_in at = address();

	server.status = status;
	server.requests = server.taken = 0;
	server.daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, on_request, NULL,
	                                 MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_LISTENING_ADDRESS_REUSE, 1U,
	                                 MHD_OPTION_END);
	assert_non_null(server.daemon);
	server.port = MHD_get_daemon_info(server.daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%u", server.port);
}

/* Connections are made, requests are read by the kernel, and never answered. */
static void start_silence(void)
{
	struct sockaddr_in at = address();
	socklen_t len = sizeof(at);
	int one = 1;

	server.silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(setsockopt(server.silent, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(server.silent, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(server.silent, 16), 0);
	assert_int_equal(getsockname(server.silent, (struct sockaddr *)&at, &len), 0);
	server.port = ntohs(at.sin_port);
	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%u", server.port);
}

static int stop_server(void **state)
{
	(void)state;
	if (server.daemon)
		MHD_stop_daemon(server.daemon);
	if (server.silent >= 0)
		close(server.silent);
	server.daemon = NULL;
	server.silent = -1;
	server.port = 0;
	return 0;
}

/* --- a server that fails ------------------------------------------------------------------------------------ */

/* Nobody listens at port 1. */
static void test_sink__windows_wait_for_a_server_and_are_told_once(void **state)
{
	struct config *config = config_pushing_to("http://127.0.0.1:1");
	struct sink *sink = sink_to(config, NULL);

	(void)state;
	for (size_t window = 1; window <= 3; window++)
		sink_deliver(sink, window_profile(ROOM, 1));
	for (int i = 0; i < 5000 && (!n_said || sink_waiting(sink) != 3); i++) {
		sink_poll(sink);
		pause_ms(2);
	}
	assert_int_equal(n_said, 1);
	assert_non_null(strstr(last_said, "no answer"));
	assert_null(strstr(last_said, " ms")); /* libcurl's, another one each time */
	assert_int_equal(sink_counts(sink).not_pushed, 0);
	assert_true(sink_counts(sink).pushing_fails);
	assert_int_equal(end(sink, 10 * SECOND), -EIO);
	assert_int_equal(n_said, 2);
	assert_non_null(strstr(last_said, "3 windows were not pushed: push to http://127.0.0.1:1"));
	assert_int_equal(sink_counts(sink).not_pushed, 3);
	assert_int_equal(sink_counts(sink).pushed, 0);
	sink_free(sink);
	config_free(config);
}

static void test_sink__one_window_and_no_server_is_one_line(void **state)
{
	struct config *config = config_pushing_to("http://127.0.0.1:1");
	struct sink *sink = sink_to(config, NULL);

	(void)state;
	sink_end(sink, window_profile(ROOM, 1), 10 * SECOND);
	while (!sink_poll(sink))
		pause_ms(2);
	assert_int_equal(sink_finish(sink), -EIO);
	assert_int_equal(n_said, 1);
	assert_non_null(strstr(last_said, "1 window was not pushed"));
	assert_non_null(strstr(last_said, "no answer"));
	sink_free(sink);
	config_free(config);
}

/* Two series a window, each of which has to come once. */
static void test_sink__what_waited_is_pushed_once_when_the_server_is_back(void **state)
{
	struct config *config;
	struct sink *sink;

	(void)state;
	start_server(503);
	config = config_pushing_to(server.url);
	sink = sink_to(config, NULL);
	for (int window = 0; window < 5; window++)
		sink_deliver(sink, window_profile(ROOM, 1));
	while (server.requests < 2)
		pause_ms(2);
	server.status = 200;
	settle(sink);
	assert_int_equal(server.taken, 10);
	assert_int_equal(sink_counts(sink).pushed, 10);
	assert_int_equal(sink_counts(sink).not_pushed, 0);
	assert_false(sink_counts(sink).pushing_fails);
	assert_int_equal(n_said, 1);
	assert_non_null(strstr(last_said, "503"));
	/* Another outage is told, too. */
	server.status = 503;
	sink_deliver(sink, window_profile(ROOM, 1));
	while (server.requests < 13)
		pause_ms(2);
	server.status = 200;
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(server.taken, 12);
	assert_int_equal(n_said, 2);
	sink_free(sink);
	config_free(config);
}

static void test_sink__a_refusal_for_good_is_not_sent_again(void **state)
{
	struct config *config;
	struct sink *sink;

	(void)state;
	start_server(422);
	config = config_pushing_to(server.url);
	sink = sink_to(config, NULL);
	for (int window = 0; window < 3; window++)
		sink_deliver(sink, window_profile(ROOM, 1));
	settle(sink);
	assert_int_equal(server.requests, 6);
	assert_int_equal(sink_counts(sink).not_pushed, 3);
	assert_int_equal(n_said, 1);
	server.status = 200;
	sink_deliver(sink, window_profile(ROOM, 1));
	assert_int_equal(end(sink, 10 * SECOND), -EIO);
	assert_false(sink_counts(sink).pushing_fails);
	assert_int_equal(sink_counts(sink).not_pushed, 3);
	sink_free(sink);
	config_free(config);
}

static void test_sink__nobody_waits_for_a_silent_server(void **state)
{
	struct config *config;
	struct sink *sink;
	uint64_t began;

	(void)state;
	start_silence();
	config = config_pushing_to(server.url);
	sink = sink_to(config, NULL);
	began = monotonic_ns();
	for (int window = 0; window < 5; window++)
		sink_deliver(sink, window_profile(ROOM, 1));
	sink_poll(sink);
	assert_true(monotonic_ns() - began < 2 * SECOND);
	for (int i = 0; i < 5000 && sink_waiting(sink) != 5; i++)
		pause_ms(2);
	began = monotonic_ns();
	assert_int_equal(end(sink, SECOND / 2), -EIO);
	assert_in_range(monotonic_ns() - began, SECOND / 2, 5 * SECOND);
	assert_int_equal(sink_counts(sink).not_pushed, 5);
	assert_int_equal(n_said, 1);
	assert_non_null(strstr(last_said, "5 windows were not pushed"));
	sink_free(sink);
	config_free(config);
}

/* It may have what it did not answer, so it is asked first. */
static void test_sink__a_window_counts_twice_at_most(void **state)
{
	struct config *config;
	char err[1024];
	struct sink *sink;

	(void)state;
	start_silence();
	config = config_pushing_to(server.url);
	assert_int_equal(config_set(config, "push.timeout_seconds", "1", err, sizeof(err)), 0);
	sink = sink_to(config, NULL);
	sink_deliver(sink, window_profile(ROOM, 1));
	for (int i = 0; i < 10000 && !n_said; i++) {
		sink_poll(sink);
		pause_ms(2);
	}
	assert_int_equal(n_said, 1);
	close(server.silent);
	server.silent = -1;
	start_server(200);
	settle(sink);
	assert_int_equal(server.taken, 3); /* a question, and two series */
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(sink_counts(sink).pushed, 2);
	sink_free(sink);
	config_free(config);
}

static void test_sink__what_cannot_be_made_into_a_series_is_said(void **state)
{
	const struct profile_value_type types[] = { { "alloc_space", "bytes" } };
	struct config *config = config_pushing_to("http://127.0.0.1:1");
	struct sink *sink = sink_to(config, NULL);

	(void)state;
	sink_deliver(sink, profile_new(types, 1, types[0], 1, ROOM));
	assert_int_equal(end(sink, 10 * SECOND), -EIO);
	assert_int_equal(n_said, 1);
	assert_non_null(strstr(last_said, "cannot make the profile to push"));
	assert_int_equal(sink_counts(sink).not_pushed, 1);
	sink_free(sink);
	config_free(config);
}

static struct sink *sink_to_tenant(const char *tenant)
{
	struct config *config = config_pushing_to(server.url);
	char err[256];
	struct sink *sink;

	assert_int_equal(config_set(config, "push.tenant", tenant, err, sizeof(err)), 0);
	sink = sink_to(config, NULL);
	config_free(config);
	return sink;
}

/* Two reloads while the server is down: what waits in the old sinks, for others, is delivered beside what the new one gets. */
static void test_sink__takes_over_what_waits(void **state)
{
	struct sink *sink = NULL, *newer;

	(void)state;
	start_server(503);
	for (unsigned int i = 0; i < 3; i++) {
		newer = sink_to_tenant((const char *[]){ "a", "b", "c" }[i]);
		if (sink)
			sink_take_over(newer, sink);
		sink = newer;
		sink_deliver(sink, window_profile(ROOM, 1));
		while (server.requests < 1 + 2 * i)
			pause_ms(2);
	}
	server.status = 200;
	for (int i = 0; i < 15000 && sink_counts_all(sink).pushed < 6; i++) {
		sink_poll(sink);
		pause_ms(2);
	}
	assert_int_equal(sink_counts_all(sink).pushed, 6);
	assert_int_equal(sink_counts(sink).pushed, 2);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(sink_counts_all(sink).pushed, 6);
	sink_free(sink);
}

/* --- files -------------------------------------------------------------------------------------------------- */

static void test_sink__windows_that_do_not_fit_are_said_and_counted(void **state)
{
	char path[64];
	struct config *config = config_pushing_to(NULL);
	struct profile_sample_view view;
	struct sink *sink;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/stallprof-sink-%d.pb.gz", (int)getpid());
	sink = sink_to(config, path);
	sink_deliver(sink, window_profile(20000, 1));
	sink_deliver(sink, window_profile(ROOM, 1));
	settle(sink);
	assert_int_equal(n_said, 0);
	sink_deliver(sink, window_profile(ROOM, 2000));
	sink_deliver(sink, window_profile(ROOM, 1));
	settle(sink);
	assert_int_equal(n_said, 1);
	assert_non_null(strstr(last_said, "takes no more windows"));
	assert_null(sink_whole(sink));
	assert_int_equal(end(sink, 0), -EIO);
	assert_true(n_said > 1);
	assert_non_null(sink_whole(sink));
	/* Of three windows: the fourth would be one behind a hole. */
	assert_true(profile_get_sample(sink_whole(sink), 0, &view));
	assert_int_equal(view.values[0], 3 * 3);
	assert_string_equal(sink_last_file(sink), path);
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
	sink_free(sink);
	config_free(config);
}

static uint64_t dropped_in(const char *path)
{
	struct stamp *stamp = stamp_new();
	struct profile *profile;
	char err[256];
	uint64_t n;

	assert_int_equal(pprof_file_read(path, ROOM, &profile, err, sizeof(err)), 0);
	stamp_from_notes(stamp, profile, NULL);
	n = stamp_counter(stamp, "windows_dropped");
	stamp_free(stamp);
	profile_free(profile);
	return n;
}

/* The sum over the windows in a folder, each of which tells of those dropped since the one before it. */
static uint64_t dropped_in_all(const char *dir)
{
	char pattern[PATH_MAX];
	uint64_t sum = 0;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s*", dir);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		sum += dropped_in(found.gl_pathv[i]);
	globfree(&found);
	return sum;
}

/* The folder goes, with the one above it, without which it is not made again; and comes back. */
static void test_sink__windows_that_cannot_be_kept_are_said_once(void **state)
{
	struct config *config = config_pushing_to(NULL);
	char above[64], dir[80], command[128];
	struct sink *sink;

	(void)state;
	snprintf(above, sizeof(above), "/tmp/stallprof-sink-%d", (int)getpid());
	snprintf(dir, sizeof(dir), "%s/windows/", above);
	assert_int_equal(mkdir(above, 0700), 0);
	sink = sink_to(config, dir);
	sink_deliver(sink, window_profile(ROOM, 1));
	settle(sink);
	assert_true(sink_counts(sink).kept == 1 && sink_counts(sink).kept_bytes > 100);
	snprintf(command, sizeof(command), "rm -r %s", above);
	assert_int_equal(system(command), 0);
	for (int i = 0; i < 3; i++)
		sink_deliver(sink, window_profile(ROOM, 1));
	settle(sink);
	assert_true(sink_counts(sink).keeping_fails);
	assert_int_equal(n_said, 1);
	assert_non_null(strstr(last_said, "No such file"));
	assert_int_equal(mkdir(above, 0700), 0);
	sink_deliver(sink, window_profile(ROOM, 1));
	settle(sink);
	assert_false(sink_counts(sink).keeping_fails);
	assert_int_equal(dropped_in_all(dir), 3);
	assert_int_equal(system(command), 0);
	sink_deliver(sink, window_profile(ROOM, 1));
	assert_int_equal(end(sink, 0), -EIO);
	assert_int_equal(n_said, 2);
	assert_true(sink_counts(sink).kept == 2 && sink_counts(sink).not_kept == 4);
	sink_free(sink);
	config_free(config);
}

/* So many at once that the disk cannot follow; the windows that are kept say how many went, and each once. */
static void test_sink__windows_that_a_disk_is_too_slow_for_are_told_and_counted(void **state)
{
	static struct profile *windows[1500];
	struct config *config = config_pushing_to(NULL);
	const size_t n = sizeof(windows) / sizeof(windows[0]);
	char dir[64], command[128];
	struct sink *sink;
	uint64_t lost;

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/stallprof-sink-%d/", (int)getpid());
	sink = sink_to(config, dir);
	for (size_t i = 0; i < n; i++) {
		windows[i] = window_profile(ROOM, 1);
		profile_set_time(windows[i], 1700000000000000000 + (int64_t)i * 1000000, 10);
	}
	for (size_t i = 0; i < n; i++)
		sink_deliver(sink, windows[i]);
	settle(sink);
	lost = sink_counts(sink).not_kept;
	assert_int_equal(sink_counts(sink).kept + lost, n);
	assert_true(lost > 0);
	assert_int_equal(n_said, 1);
	assert_non_null(strstr(last_said, "the disk is too slow"));
	assert_int_equal(end(sink, 0), -EIO);
	assert_int_equal(dropped_in_all(dir), lost);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
	sink_free(sink);
	config_free(config);
}

/* A pipe that nobody reads is a disk that hangs: opening it to write waits. */
static void test_sink__nobody_waits_for_a_disk_that_hangs(void **state)
{
	struct config *config = config_pushing_to(NULL);
	char path[64], fresh[128], command[256];
	struct sink *sink;
	uint64_t began;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/stallprof-sink-%d.fifo", (int)getpid());
	assert_int_equal(mkfifo(path, 0600), 0);
	sink = sink_to(config, path);
	began = monotonic_ns();
	sink_end(sink, window_profile(ROOM, 1), 0);
	pause_ms(50);
	assert_false(sink_poll(sink));
	assert_int_equal(sink_finish(sink), -EIO);
	assert_true(monotonic_ns() - began < 5 * SECOND);
	assert_int_equal(n_said, 1);
	assert_non_null(strstr(last_said, "is not written: the disk took too long"));
	assert_null(sink_whole(sink));
	sink_free(sink);
	/* Lets the thread, which was left behind, come to its end. */
	snprintf(fresh, sizeof(fresh), "%s.out", path);
	snprintf(command, sizeof(command), "timeout 20 cat %s >%s", path, fresh);
	assert_int_equal(system(command), 0);
	assert_int_equal(dropped_in(fresh), 0);
	unlink(fresh);
	unlink(path);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sink__windows_wait_for_a_server_and_are_told_once),
		cmocka_unit_test(test_sink__one_window_and_no_server_is_one_line),
		cmocka_unit_test_teardown(test_sink__what_waited_is_pushed_once_when_the_server_is_back,
		                          stop_server),
		cmocka_unit_test_teardown(test_sink__a_refusal_for_good_is_not_sent_again, stop_server),
		cmocka_unit_test_teardown(test_sink__nobody_waits_for_a_silent_server, stop_server),
		cmocka_unit_test_teardown(test_sink__a_window_counts_twice_at_most, stop_server),
		cmocka_unit_test_teardown(test_sink__takes_over_what_waits, stop_server),
		cmocka_unit_test(test_sink__what_cannot_be_made_into_a_series_is_said),
		cmocka_unit_test(test_sink__windows_that_cannot_be_kept_are_said_once),
		cmocka_unit_test(test_sink__windows_that_do_not_fit_are_said_and_counted),
		cmocka_unit_test(test_sink__windows_that_a_disk_is_too_slow_for_are_told_and_counted),
		cmocka_unit_test(test_sink__nobody_waits_for_a_disk_that_hangs),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
