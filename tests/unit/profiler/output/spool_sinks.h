/* A server and sinks that push to it, with a spool, for tests of what waits there. */
#ifndef TESTS_UNIT_SPOOL_SINKS_H
#define TESTS_UNIT_SPOOL_SINKS_H

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

static __attribute__((unused)) void take_line(const char *line)
{
	size_t used = strlen(said);

	snprintf(said + used, sizeof(said) - used, "%s\n", line);
}

static __attribute__((unused)) bool was_said(const char *words)
{
	return strstr(said, words);
}

static __attribute__((unused)) unsigned int lines(void)
{
	unsigned int n = 0;

	for (const char *at = said; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

static __attribute__((unused)) void pause_ms(unsigned int ms)
{
	const struct timespec step = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&step, NULL);
}

/* --- a server ----------------------------------------------------------------------------------------------- */

struct request {
	char body[4096];
	size_t len;
};

/* Takes requests, of which it remembers the order by the label "job"; `refuse_from`: it answers 503 from that one on. `token`, `place`,
 * NULL: any will do: another is answered with 401, 404.
 * `poison`: the first one that comes is answered with `poison_as` and `words`, each time, until so many others were taken. */
static struct {
	struct MHD_Daemon *daemon;
	uint16_t port;
	char url[64];
	atomic_uint connections, status, requests, taken, refuse_from, hangs, waits;
	atomic_uint poison, poisoned; /* how often */
	unsigned int poison_as;
	const char *words;
	atomic_uint stored_as; /* what a request that was taken is answered with */
	struct request first;
	const char *type;  /* of the answers */
	const char *token; /* as the header has it */
	const char *place; /* the URL's path begins with it */
	char jobs[256];    /* one letter a request that was taken */
} server;

static __attribute__((unused)) void note_job(const struct request *request)
{
	const char *at = memmem(request->body, request->len, "job-", 4);

	if (at && server.taken < sizeof(server.jobs))
		server.jobs[server.taken] = at[4];
}

static __attribute__((unused)) bool is_poison(const struct request *request)
{
	if (server.taken >= server.poison || !request->len)
		return false;
	if (!server.first.len)
		server.first = *request;
	return server.first.len == request->len && !memcmp(server.first.body, request->body, request->len);
}

static __attribute__((unused)) unsigned int settings_status(struct MHD_Connection *connection,
                                                            const char *url)
{
	const char *token = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");

	if (server.place && strncmp(url, server.place, strlen(server.place)) != 0)
		return 404;
	return server.token && (!token || strcmp(token, server.token) != 0) ? 401 : 200;
}

static enum MHD_Result on_request(void *unused, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *len,
                                  void **state)
{
	struct request *request = *state;
	struct MHD_Response *response;
	unsigned int status;
	enum MHD_Result result;
	char answer[256] = "";

	(void)unused, (void)method, (void)version;
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
	server.waits++;
	while (server.hangs)
		pause_ms(5);
	server.waits--;
	server.requests++;
	status = server.status == 200 && server.taken >= server.refuse_from ? 503 : server.status;
	if (status == 200)
		status = settings_status(connection, url);
	if (status == 200 && is_poison(request)) {
		server.poisoned++;
		status = server.poison_as;
		snprintf(answer, sizeof(answer), "%s", server.words);
	} else if (status == 200 && request->len) {
		note_job(request);
		server.taken++;
		status = server.stored_as;
	}
	free(request);
	*state = NULL;
	if (status == 400)
		snprintf(answer, sizeof(answer), "request %u is refused", server.requests);
	response = MHD_create_response_from_buffer(strlen(answer), answer, MHD_RESPMEM_MUST_COPY);
	MHD_add_response_header(response, "Content-Type", server.type);
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static void count_connection(void *unused, struct MHD_Connection *connection, void **context,
                             enum MHD_ConnectionNotificationCode what)
{
	(void)unused, (void)connection, (void)context;
	server.connections += what == MHD_CONNECTION_NOTIFY_STARTED;
}

static char folder[64], spool[96];
static char token_file[96]; /* "": none */

/* On a port that is free; on that one. */
static __attribute__((unused)) void start_server(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		                  .sin_port = htons(port),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	server.daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, on_request, NULL,
	                                 MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_NOTIFY_CONNECTION,
	                                 count_connection, NULL, MHD_OPTION_END);
	assert_non_null(server.daemon);
}

/* A sink that ends without waiting leaves its last request in the server, which would answer it as it answers what comes then. */
static __attribute__((unused)) void forget_requests(void)
{
	MHD_stop_daemon(server.daemon);
	start_server(server.port);
}

static __attribute__((unused)) int begin(void **state)
{
	(void)state;
	said[0] = '\0';
	memset(server.jobs, 0, sizeof(server.jobs));
	server.status = 503;
	server.connections = server.requests = server.taken = server.hangs = server.waits = 0;
	server.refuse_from = 1000000;
	server.poison = server.poisoned = 0;
	server.poison_as = 500;
	server.words = "";
	server.stored_as = 200;
	server.first.len = 0;
	server.type = "application/proto";
	server.token = server.place = NULL;
	token_file[0] = '\0';
	start_server(0);
	server.port = MHD_get_daemon_info(server.daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%u", server.port);
	snprintf(folder, sizeof(folder), "/tmp/stallprof-spool-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(spool, sizeof(spool), "%s/spool", folder);
	return 0;
}

static __attribute__((unused)) int end_all(void **state)
{
	char command[128];

	(void)state;
	server.hangs = 0;
	MHD_stop_daemon(server.daemon);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static __attribute__((unused)) size_t in_spool(void)
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

static __attribute__((unused)) struct profile *window_profile(void)
{
	const struct profile_value_type types[] = { { "contentions", "count" },
		                                    { "delay", "nanoseconds" },
		                                    { "cpu", "nanoseconds" } };
	const int64_t values[] = { 3, 500, 70 };
	static int64_t seconds; /* so that no two are the same */
	struct profile *p = profile_new(types, 3, types[0], 1, (size_t)16 << 20);
	int64_t id;

	assert_non_null(p);
	profile_set_time(p, 1700000000000000000 + 1000000000 * seconds++, 10);
	id = profile_location(p, 0, 1, NULL, 0);
	assert_int_equal(profile_add_sample(p, &id, 1, values, NULL, 0), 0);
	return p;
}

static __attribute__((unused)) void set(struct config *config, const char *name, const char *value)
{
	char err[1024] = "";

	if (config_set(config, name, value, err, sizeof(err)))
		fail_msg("%s", err);
}

static __attribute__((unused)) struct sink *sink_with(const char *job, const char *max_bytes)
{
	struct config *config = config_default();
	char err[1024] = "";
	struct sink *sink;

	assert_non_null(config);
	set(config, "push.url", server.url);
	set(config, "push.spool", spool);
	set(config, "push.bearer_token_file", token_file);
	set(config, "push.spool_max_bytes", max_bytes);
	assert_int_equal(config_add_label(config, "job", job, err, sizeof(err)), 0);
	sink = sink_new(config, NULL, take_line, err, sizeof(err));
	if (!sink)
		fail_msg("%s", err);
	config_free(config);
	return sink;
}

static __attribute__((unused)) struct sink *sink_of(const char *job)
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
		if (!(condition))                                                                            \
			fail_msg("%s: of %u requests %u taken, %zu in the spool, said: %s", #condition,      \
			         server.requests, server.taken, in_spool(), said);                           \
	} while (0)

/* What sink_finish() says. */
static __attribute__((unused)) bool failed; /* what sink_fails() said at the end */

static __attribute__((unused)) int end(struct sink *sink, uint64_t push_ns)
{
	int result;

	sink_end(sink, NULL, push_ns);
	for (int i = 0; i < 15000 && !sink_poll(sink); i++)
		pause_ms(2);
	failed = sink_fails(sink);
	result = sink_finish(sink);
	sink_free(sink);
	if (!push_ns)
		forget_requests();
	return result;
}

static __attribute__((unused)) void deliver(struct sink *sink, unsigned int n)
{
	for (; n; n--)
		sink_deliver(sink, window_profile());
}

/* Leaves so many windows of a job in the spool. */
static __attribute__((unused)) void leave(const char *job, unsigned int n)
{
	struct sink *sink = sink_of(job);

	deliver(sink, n);
	UNTIL(sink, in_spool() == n);
	assert_int_equal(end(sink, 0), 0);
	said[0] = '\0';
}

/* Requests of a job, of one letter, that were taken. */
static __attribute__((unused)) size_t sink_jobs(char job)
{
	size_t n = 0;

	for (const char *at = server.jobs; *at; at++)
		n += *at == job;
	return n;
}

#endif
