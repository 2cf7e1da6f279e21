/* Tests of sink.h with a spool: windows that a server does not take outlive the sink. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/config/config.h"
#include "profiler/output/sink.h"

#define SECOND 1000000000ULL

static char said[65536];

static void take_line(const char *line)
{
	size_t used = strlen(said);

	snprintf(said + used, sizeof(said) - used, "%s\n", line);
}

static bool was_said(const char *words)
{
	return strstr(said, words);
}

static unsigned int lines(void)
{
	unsigned int n = 0;

	for (const char *at = said; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

static void pause_ms(unsigned int ms)
{
	const struct timespec step = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&step, NULL);
}

/* --- a server ----------------------------------------------------------------------------------------------- */

/* Takes requests, of which it remembers the order by the label "job"; `refuse_from`: it answers 503 from that one on. */
static struct {
	struct MHD_Daemon *daemon;
	uint16_t port;
	char url[64];
	atomic_uint status, requests, taken, refuse_from, hangs;
	char jobs[256]; /* one letter a request that was taken */
} server;

struct request {
	char body[4096];
	size_t len;
};

static void note_job(const struct request *request)
{
	const char *at = memmem(request->body, request->len, "job-", 4);

	if (at && server.taken < sizeof(server.jobs))
		server.jobs[server.taken] = at[4];
}

static enum MHD_Result on_request(void *unused, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *len,
                                  void **state)
{
	struct request *request = *state;
	struct MHD_Response *response;
	unsigned int status;
	enum MHD_Result result;

	(void)unused, (void)url, (void)method, (void)version;
	if (!request) {
		*state = calloc(1, sizeof(*request));
		return *state ? MHD_YES : MHD_NO;
	}
	if (*len) {
		size_t room = sizeof(request->body) - request->len, part = *len < room ? *len : room;

		memcpy(request->body + request->len, data, part);
		request->len += part;
		*len = 0;
		return MHD_YES;
	}
	while (server.hangs)
		pause_ms(5);
	server.requests++;
	status = server.status == 200 && server.taken >= server.refuse_from ? 503 : server.status;
	if (status == 200 && request->len) {
		note_job(request);
		server.taken++;
	}
	free(request);
	*state = NULL;
	response = MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static char folder[64], spool[96];

static int begin(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	(void)state;
	said[0] = '\0';
	memset(server.jobs, 0, sizeof(server.jobs));
	server.status = 503;
	server.requests = server.taken = server.hangs = 0;
	server.refuse_from = 1000000;
	server.daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, on_request, NULL,
	                                 MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_END);
	assert_non_null(server.daemon);
	server.port = MHD_get_daemon_info(server.daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%u", server.port);
	snprintf(folder, sizeof(folder), "/tmp/stallprof-spool-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(spool, sizeof(spool), "%s/spool", folder);
	return 0;
}

static int end_all(void **state)
{
	char command[128];

	(void)state;
	server.hangs = 0;
	MHD_stop_daemon(server.daemon);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static size_t in_spool(void)
{
	char pattern[128];
	glob_t found;
	size_t n;

	snprintf(pattern, sizeof(pattern), "%s/*.window", spool);
	n = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;
	globfree(&found);
	return n;
}

/* --- sinks -------------------------------------------------------------------------------------------------- */

static struct profile *window_profile(void)
{
	const struct profile_value_type types[] = { { "contentions", "count" },
		                                    { "delay", "nanoseconds" },
		                                    { "cpu", "nanoseconds" } };
	const int64_t values[] = { 3, 500, 70 };
	struct profile *p = profile_new(types, 3, types[0], 1, (size_t)16 << 20);
	int64_t id;

	assert_non_null(p);
	profile_set_time(p, 1700000000000000000, 10);
	id = profile_location(p, 0, 1, NULL, 0);
	assert_int_equal(profile_add_sample(p, &id, 1, values, NULL, 0), 0);
	return p;
}

static void set(struct config *config, const char *name, const char *value)
{
	char err[1024] = "";

	if (config_set(config, name, value, err, sizeof(err)))
		fail_msg("%s", err);
}

static struct sink *sink_with(const char *job, const char *max_bytes)
{
	struct config *config = config_default();
	char err[1024] = "";
	struct sink *sink;

	assert_non_null(config);
	set(config, "push.url", server.url);
	set(config, "push.spool", spool);
	set(config, "push.spool_max_bytes", max_bytes);
	assert_int_equal(config_add_label(config, "job", job, err, sizeof(err)), 0);
	sink = sink_new(config, NULL, take_line, err, sizeof(err));
	if (!sink)
		fail_msg("%s", err);
	config_free(config);
	return sink;
}

static struct sink *sink_of(const char *job)
{
	struct sink *sink = sink_with(job, "");

	sink_begin(sink);
	return sink;
}

#define UNTIL(sink, condition)                                                                               \
	do {                                                                                                 \
		for (int tries = 0; tries < 10000 && !(condition); tries++) {                                \
			sink_poll(sink);                                                                     \
			pause_ms(2);                                                                         \
		}                                                                                            \
		assert_true(condition);                                                                      \
	} while (0)

/* What sink_finish() says. */
static int end(struct sink *sink, uint64_t push_ns)
{
	int result;

	sink_end(sink, NULL, push_ns);
	for (int i = 0; i < 15000 && !sink_poll(sink); i++)
		pause_ms(2);
	result = sink_finish(sink);
	sink_free(sink);
	return result;
}

static void deliver(struct sink *sink, unsigned int n)
{
	for (; n; n--)
		sink_deliver(sink, window_profile());
}

/* Leaves so many windows of a job in the spool. */
static void leave(const char *job, unsigned int n)
{
	struct sink *sink = sink_of(job);

	deliver(sink, n);
	UNTIL(sink, in_spool() == n);
	assert_int_equal(end(sink, 0), 0);
	said[0] = '\0';
}

/* --- tests -------------------------------------------------------------------------------------------------- */

static void test_sink_spool__a_server_that_takes_all_costs_no_write(void **state)
{
	struct sink *sink = sink_of("job-a");
	struct stat st, now;

	(void)state;
	server.status = 200;
	assert_int_equal(stat(spool, &st), 0);
	deliver(sink, 5);
	UNTIL(sink, server.taken == 10);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(stat(spool, &now), 0);
	assert_memory_equal(&st.st_mtim, &now.st_mtim, sizeof(now.st_mtim));
	assert_string_equal(said, "");
}

/* Two series a window, with the labels of the time when they were recorded. */
static void test_sink_spool__what_is_left_is_sent_by_the_next_sink_first(void **state)
{
	struct sink *sink = sink_of("job-a");
	char line[192];

	(void)state;
	deliver(sink, 3);
	UNTIL(sink, in_spool() == 3);
	deliver(sink, 1);
	UNTIL(sink, in_spool() == 4);
	sink_end(sink, NULL, 0);
	while (!sink_poll(sink))
		pause_ms(2);
	assert_int_equal(sink_finish(sink), 0);
	assert_int_equal(sink_counts(sink).not_pushed, 0);
	assert_int_equal(sink_counts(sink).spooled, 4);
	assert_false(sink_counts(sink).pushing_fails);
	sink_free(sink);
	snprintf(line, sizeof(line), "4 windows are kept in %s and sent at the next start: push to", spool);
	assert_true(was_said(line));
	assert_int_equal(lines(), 2);
	assert_int_equal(in_spool(), 4);

	server.status = 200;
	sink = sink_of("job-b");
	deliver(sink, 2);
	UNTIL(sink, server.taken == 12);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_string_equal(server.jobs, "aaaaaaaabbbb");
	assert_int_equal(in_spool(), 0);
}

/* The server takes three series of six and fails; the other three come later. */
static void test_sink_spool__no_series_is_sent_twice(void **state)
{
	struct sink *sink;

	(void)state;
	leave("job-a", 3);
	server.status = 200;
	server.refuse_from = 3;
	sink = sink_of("job-b");
	UNTIL(sink, server.taken == 3 && was_said("503"));
	assert_int_equal(end(sink, 0), 0);
	assert_true(was_said("2 windows are kept"));
	assert_int_equal(in_spool(), 2);
	server.refuse_from = 1000000;
	sink = sink_of("job-c");
	UNTIL(sink, in_spool() == 0);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(server.taken, 6);
}

/* The first had sent all of a request when it was stopped, so the next one asks first. */
static void test_sink_spool__a_request_without_an_answer_is_remembered(void **state)
{
	struct sink *sink = sink_of("job-a");

	(void)state;
	server.status = 200;
	server.hangs = 1;
	deliver(sink, 2);
	pause_ms(300);
	assert_int_equal(end(sink, SECOND / 10), 0);
	assert_int_equal(in_spool(), 2);
	assert_true(was_said("2 windows are kept"));
	assert_true(was_said("the server has not answered in time"));
	server.hangs = 0;
	while (server.taken < 1)
		pause_ms(2);
	server.requests = server.taken = 0;
	sink = sink_of("job-b");
	UNTIL(sink, in_spool() == 0);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(server.taken, 4);
	assert_int_equal(server.requests, 5);
}

static void test_sink_spool__what_is_refused_for_good_is_removed(void **state)
{
	struct sink *sink;

	(void)state;
	leave("job-a", 3);
	server.status = 422;
	sink = sink_of("job-b");
	UNTIL(sink, in_spool() == 0);
	UNTIL(sink, sink_counts(sink).not_pushed == 3);
	assert_int_equal(end(sink, 10 * SECOND), -EIO);
	assert_int_equal(server.taken, 0);
	assert_true(was_said("422"));
	assert_int_equal(lines(), 1);
}

/* A token expires: nothing is lost until there is another. */
static void test_sink_spool__what_credentials_refuse_waits(void **state)
{
	struct sink *sink = sink_of("job-a");

	(void)state;
	server.status = 401;
	deliver(sink, 2);
	UNTIL(sink, in_spool() == 2 && was_said("401"));
	assert_true(was_said("windows wait, and are sent again"));
	assert_int_equal(end(sink, 0), 0);
	server.status = 200;
	sink = sink_of("job-b");
	UNTIL(sink, in_spool() == 0);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(server.taken, 4);
}

static void test_sink_spool__a_reload_hands_over(void **state)
{
	struct sink *sink = sink_of("job-a"), *newer;

	(void)state;
	deliver(sink, 2);
	UNTIL(sink, in_spool() == 2);
	for (const char *job = "bc"; *job; job++) {
		char label[] = "job-?";

		label[4] = *job;
		newer = sink_with(label, "");
		deliver(sink, 1); /* the last of the old one, which is still being packed */
		sink_take_over(newer, sink);
		sink = newer;
		UNTIL(sink, sink_waiting(sink) == (*job == 'b' ? 3 : 5));
		deliver(sink, 1);
		UNTIL(sink, in_spool() == (*job == 'b' ? 4 : 6));
	}
	assert_false(was_said("another stallprof"));
	server.status = 200;
	UNTIL(sink, server.taken == 12);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_string_equal(server.jobs, "aaaaaabbbbcc");
	assert_int_equal(in_spool(), 0);
}

/* SIGTERM right after SIGHUP. */
static void test_sink_spool__an_end_during_a_reload_keeps_all(void **state)
{
	struct sink *sink = sink_of("job-a"), *newer = sink_with("job-b", "");

	(void)state;
	server.status = 200;
	server.hangs = 1;
	deliver(sink, 3);
	pause_ms(100);
	sink_take_over(newer, sink);
	deliver(newer, 1);
	assert_int_equal(end(newer, SECOND / 5), 0);
	assert_int_equal(in_spool(), 4);
	assert_true(was_said("3 windows are kept") && was_said("1 window is kept"));
}

static void test_sink_spool__another_process_is_noticed(void **state)
{
	struct sink *sink = sink_of("job-a"), *other = sink_of("job-b");

	(void)state;
	sink_poll(other);
	assert_true(was_said("push.spool: another stallprof has "));
	assert_true(was_said(spool));
	assert_int_equal(lines(), 1);
	deliver(other, 2);
	UNTIL(other, lines() == 2);
	assert_int_equal(end(other, 0), -EIO);
	assert_true(was_said("2 windows were not pushed"));
	assert_int_equal(in_spool(), 0);
	assert_int_equal(end(sink, 0), 0);
}

static void test_sink_spool__damaged_windows_are_told_and_the_rest_is_sent(void **state)
{
	char path[160];
	struct sink *sink;

	(void)state;
	leave("job-a", 4);
	snprintf(path, sizeof(path), "%s/000000000002.window", spool);
	assert_int_equal(truncate(path, 100), 0);
	server.status = 200;
	sink = sink_of("job-b");
	UNTIL(sink, server.taken == 6 && sink_counts(sink).not_pushed);
	assert_int_equal(sink_counts(sink).not_pushed, 1);
	assert_int_equal(end(sink, 10 * SECOND), -EIO);
	assert_int_equal(lines(), 1);
	assert_true(was_said("window 2 is lost: it is cut short"));
	assert_int_equal(in_spool(), 0);
	snprintf(path, sizeof(path), "%s/damaged", spool);
	assert_int_equal(access(path, F_OK), 0);
}

/* A file takes its place. */
static void test_sink_spool__without_a_folder_windows_wait_in_memory(void **state)
{
	struct sink *sink = sink_of("job-a");
	char command[256];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s; touch %s", spool, spool);
	assert_int_equal(system(command), 0);
	deliver(sink, 3);
	UNTIL(sink, was_said("a window cannot be stored: Not a directory; it waits in memory"));
	UNTIL(sink, sink_waiting(sink) == 3);
	server.status = 200;
	UNTIL(sink, server.taken == 6);
	assert_true(sink_counts(sink).not_spooled >= 1);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_int_equal(lines(), 2);
}

/* Of some 156 KiB, as random addresses can't be compressed: six are less than a MiB. */
static struct profile *large_profile(void)
{
	const int64_t values[] = { 3, 500, 70 };
	struct profile *p = window_profile();

	for (size_t i = 0; i < 6000; i++) {
		int64_t id = profile_location(p, 0, (uint64_t)random() << 30 | (uint64_t)random(), NULL, 0);

		assert_int_equal(profile_add_sample(p, &id, 1, values, NULL, 0), 0);
	}
	return p;
}

static void test_sink_spool__the_oldest_go_when_it_is_full(void **state)
{
	struct sink *sink;

	(void)state;
	leave("job-a", 1);
	sink = sink_with("job-b", "1048576");
	sink_begin(sink);
	for (unsigned int i = 0; i < 10; i++) {
		sink_deliver(sink, large_profile());
		UNTIL(sink, in_spool() + sink_counts(sink).not_pushed == 2 + i);
	}
	UNTIL(sink, in_spool() == 6 && sink_counts(sink).not_pushed == 5);
	assert_true(was_said("more windows wait for the server than there is room for (8640, 1 MiB, in "));
	assert_int_equal(end(sink, 0), -EIO);
	assert_int_equal(in_spool(), 6);
	server.status = 200;
	sink = sink_of("job-c");
	UNTIL(sink, in_spool() == 0);
	assert_int_equal(end(sink, 10 * SECOND), 0);
	assert_null(strchr(server.jobs, 'a'));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_sink_spool__##name, begin, end_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_server_that_takes_all_costs_no_write),
		TEST(what_is_left_is_sent_by_the_next_sink_first),
		TEST(no_series_is_sent_twice),
		TEST(a_request_without_an_answer_is_remembered),
		TEST(what_is_refused_for_good_is_removed),
		TEST(what_credentials_refuse_waits),
		TEST(a_reload_hands_over),
		TEST(an_end_during_a_reload_keeps_all),
		TEST(another_process_is_noticed),
		TEST(damaged_windows_are_told_and_the_rest_is_sent),
		TEST(without_a_folder_windows_wait_in_memory),
		TEST(the_oldest_go_when_it_is_full),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
