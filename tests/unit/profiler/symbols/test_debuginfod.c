/* Tests of debuginfod.h against servers on the loopback, good, dead and broken. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "profiler/symbols/debug_dir.h"
#include "profiler/symbols/debuginfod.h"
#include "profiler/format/stamp.h"
#include "symbolizer/symbolizer.h"
#include "tests/unit/compile_program.h"

#define ID   "0123456789abcdef0123456789abcdef01234567"
#define LATE "1123456789abcdef0123456789abcdef01234567"

/* A server on a free port of the loopback. */
static struct {
	struct MHD_Daemon *daemon;
	char url[64], path[256]; /* its own, and the one last asked for */
	unsigned int requests;
	enum { SENDS, HAS_NONE, BREAKS, HANGS } does;
	char file[256]; /* that it sends */
} server;

static ssize_t hang(void *context, uint64_t at, char *data, size_t max)
{
	(void)context;
	(void)data;
	(void)max;
	usleep(20000);
	return at ? 0 : (ssize_t)(*data = 'x', 1);
}

static struct MHD_Response *make_response(unsigned int *status)
{
	struct stat st;
	int fd;

	*status = server.does == HAS_NONE ? 404 : server.does == BREAKS ? 500 : 200;
	if (server.does == HANGS)
		return MHD_create_response_from_callback(1 << 20, 1, hang, NULL, NULL);
	if (server.does != SENDS)
		return MHD_create_response_from_buffer(2, (void *)"no", MHD_RESPMEM_PERSISTENT);
	fd = open(server.file, O_RDONLY);
	fstat(fd, &st);
	return MHD_create_response_from_fd((size_t)st.st_size, fd);
}

static enum MHD_Result on_request(void *unused, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *len,
                                  void **state)
{
	struct MHD_Response *response;
	enum MHD_Result result;
	unsigned int status;

	(void)unused, (void)method, (void)version, (void)data, (void)len, (void)state;
	server.requests++;
	snprintf(server.path, sizeof(server.path), "%s", url);
	response = make_response(&status);
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static int start_server(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	(void)state;
	memset(&server, 0, sizeof(server));
	server.daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, on_request, NULL,
	                                 MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_END);
	if (!server.daemon || program_dir_make(state))
		return -1;
	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%u",
	         MHD_get_daemon_info(server.daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
	snprintf(server.file, sizeof(server.file), "%s/x.debug", program_dir);
	return shell("echo 'int shown(void) { return 1; }' > '%s/x.c'", program_dir) ||
	       !compile_into("-shared -fPIC -Wl,--build-id=0x" ID " -o '%s' '%s/x.c'", server.file,
	                     program_dir);
}

static int stop_server(void **state)
{
	MHD_stop_daemon(server.daemon);
	return program_dir_remove(state);
}

static struct debuginfod *fetcher(const char *urls, uint64_t max_bytes)
{
	char dir[128];
	struct debuginfod_opts opts = {
		.urls = urls, .dir = dir, .max_bytes = max_bytes, .timeout_seconds = 3
	};
	struct debuginfod *d;

	snprintf(dir, sizeof(dir), "%s/cache/debuginfod", program_dir);
	d = debuginfod_new(&opts);
	assert_non_null(d);
	return d;
}

/* The counters since the last call, as text. */
static const char *counted(struct debuginfod *d)
{
	struct stamp *stamp = stamp_new();
	static char text[256];
	size_t i, len = 0;

	assert_int_equal(debuginfod_describe(d, stamp), 0);
	for (i = 0; i < stamp_counter_count(stamp); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%d", i ? " " : "",
		                        (int)stamp_counter_at(stamp, i).value);
	stamp_free(stamp);
	return text;
}

/* Waits until as much was counted: asked, fetched, not found, failed, dropped. */
static void assert_counted(struct debuginfod *d, const char *wanted)
{
	unsigned int sum[5] = { 0 }, now[5], i, tries;
	char have[64] = "";

	for (tries = 0; tries < 1500 && strcmp(have, wanted) != 0; tries++) {
		usleep(10000);
		assert_int_equal(
		        sscanf(counted(d), "%u %u %u %u %u", now, now + 1, now + 2, now + 3, now + 4), 5);
		for (i = 0; i < 5; i++)
			sum[i] += now[i];
		snprintf(have, sizeof(have), "%u %u %u %u %u", sum[0], sum[1], sum[2], sum[3], sum[4]);
	}
	assert_string_equal(have, wanted);
}

/* How many files the folder has, half-written ones included. */
static int n_files(void)
{
	int n = -1;
	char command[256];
	FILE *pipe;

	snprintf(command, sizeof(command), "find '%s/cache' -type f | wc -l", program_dir);
	pipe = popen(command, "r");
	assert_int_equal(fscanf(pipe, "%d", &n), 1);
	pclose(pipe);
	return n;
}

static void test_debuginfod__fetches(void **state)
{
	struct debuginfod *d = fetcher(server.url, 1 << 20);
	char build_id[DEBUGINFOD_ID_HEX_SIZE], path[256];
	struct stat st;

	(void)state;
	assert_false(debuginfod_take(d, build_id));
	debuginfod_ask(d, ID);
	debuginfod_ask(d, ID);
	assert_counted(d, "1 1 0 0 0");
	assert_string_equal(server.path, "/buildid/" ID "/debuginfo");
	debuginfod_ask(d, ID);
	assert_true(debuginfod_take(d, build_id));
	assert_string_equal(build_id, ID);
	assert_false(debuginfod_take(d, build_id));
	debuginfod_ask(d, ID); /* has been fetched */
	assert_string_equal(counted(d), "0 0 0 0 0");
	snprintf(path, sizeof(path), "%s/cache/debuginfod/.build-id/01/%s.debug", program_dir, ID + 2);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	debuginfod_free(d);
	assert_int_equal(server.requests, 1);
}

static void test_debuginfod__not_found(void **state)
{
	struct debuginfod *d = fetcher(server.url, 1 << 20);
	char build_id[DEBUGINFOD_ID_HEX_SIZE];

	(void)state;
	server.does = HAS_NONE;
	debuginfod_ask(d, ID);
	assert_counted(d, "1 0 1 0 0");
	server.does = SENDS;
	debuginfod_ask(d, ID); /* not so soon again */
	debuginfod_ask(d, "");
	debuginfod_ask(d, "../../../../etc/passwd");
	debuginfod_ask(d, "ABCDEF0123");
	assert_string_equal(counted(d), "0 0 0 0 0");
	assert_false(debuginfod_take(d, build_id));
	debuginfod_free(d);
	assert_int_equal(server.requests, 1);
	assert_int_equal(n_files(), 0);
}

/* Another file, no ELF file, part of one: none is kept. */
static void test_debuginfod__garbage(void **state)
{
	struct debuginfod *d = fetcher(server.url, 1 << 20);
	char build_id[DEBUGINFOD_ID_HEX_SIZE];

	(void)state;
	debuginfod_ask(d, LATE);
	assert_counted(d, "1 0 0 1 0");
	assert_int_equal(shell("head -c 3000 '%s' > '%s/short' && mv '%s/short' '%s'", server.file,
	                       program_dir, program_dir, server.file),
	                 0);
	debuginfod_ask(d, "22" ID);
	assert_counted(d, "1 0 0 1 0");
	assert_int_equal(shell("head -c 100000 /dev/urandom > '%s'", server.file), 0);
	debuginfod_ask(d, ID);
	assert_counted(d, "1 0 0 1 0");
	assert_false(debuginfod_take(d, build_id));
	assert_int_equal(n_files(), 0);
	debuginfod_free(d);
}

static void test_debuginfod__too_large(void **state)
{
	struct debuginfod *d = fetcher(server.url, 4096);

	(void)state;
	debuginfod_ask(d, ID);
	assert_counted(d, "1 0 0 1 0");
	assert_int_equal(n_files(), 0);
	debuginfod_free(d);
}

/* A server that is dead, one that breaks and one that has it. */
static void test_debuginfod__several_servers(void **state)
{
	char urls[256];
	struct debuginfod *d;

	(void)state;
	snprintf(urls, sizeof(urls), "http://127.0.0.1:1  %s/base/", server.url);
	d = fetcher(urls, 1 << 20);
	debuginfod_ask(d, ID);
	assert_counted(d, "1 1 0 0 0");
	assert_string_equal(server.path, "/base/buildid/" ID "/debuginfo");
	server.does = BREAKS;
	debuginfod_ask(d, LATE);
	assert_counted(d, "1 0 0 1 0");
	debuginfod_free(d);
}

static void test_debuginfod__hangs(void **state)
{
	struct debuginfod *d = fetcher(server.url, 1 << 22);
	struct timespec before, after;
	char build_id[64];
	int i;

	(void)state;
	server.does = HANGS;
	debuginfod_ask(d, ID);
	for (i = 0; i < 300 && !server.requests; i++)
		usleep(10000);
	assert_int_equal(server.requests, 1);
	clock_gettime(CLOCK_MONOTONIC, &before);
	for (i = 0; i < 300; i++) {
		snprintf(build_id, sizeof(build_id), "%04x%s", i, ID);
		debuginfod_ask(d, build_id);
	}
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec <= 1);
	assert_counted(d, "256 0 0 1 45"); /* the first one gave up after three seconds */
	debuginfod_free(d);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec < 10);
	assert_int_equal(n_files(), 0);
}

static void test_debuginfod__bounded_dir(void **state)
{
	struct debuginfod *d = fetcher(server.url, 1 << 20);
	char dir[128], *path;
	struct stat st;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/cache/debuginfod", program_dir);
	assert_int_equal(shell("cd '%s' && mkdir -p .build-id/aa .build-id/bb && head -c 600000 /dev/zero > "
	                       ".build-id/aa/old.debug && touch -d '3 days ago' .build-id/aa/old.debug && "
	                       "head -c 600000 /dev/zero > .build-id/bb/new.debug && touch .fetching-a && "
	                       "touch -d '3 days ago' .fetching-b",
	                       dir),
	                 0);
	debuginfod_ask(d, ID);
	assert_counted(d, "1 1 0 0 0");
	assert_int_equal(
	        shell("cd '%s' && test ! -e .build-id/aa/old.debug && test -e .build-id/bb/new.debug", dir),
	        0);
	assert_int_equal(debug_dir_make(dir), 0);
	assert_int_equal(shell("cd '%s' && test -e .fetching-a && test ! -e .fetching-b", dir), 0);
	debug_dir_trim(dir, 0, ID);
	assert_int_equal(n_files(), 2);
	debug_dir_trim(dir, 0, NULL);
	assert_int_equal(n_files(), 1);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(debug_dir_make(dir), -EPERM);
	assert_true(debug_dir_begin("/nonexistent", &path) < 0);
	assert_null(path);
	assert_int_equal(stat(dir, &st), 0);
	debuginfod_free(d);
}

static void test_debuginfod__not_configured(void **state)
{
	struct stamp *stamp = stamp_new();
	char build_id[DEBUGINFOD_ID_HEX_SIZE];

	(void)state;
	debuginfod_ask(NULL, ID);
	assert_false(debuginfod_take(NULL, build_id));
	assert_int_equal(debuginfod_describe(NULL, stamp), 0);
	assert_int_equal(stamp_counter_count(stamp), 0);
	debuginfod_free(NULL);
	stamp_free(stamp);
}

/* A stripped library has its lines from the moment on that its debug file has come. */
static void ask(const char *build_id, void *context)
{
	debuginfod_ask(context, build_id);
}

static void test_debuginfod__symbolizer(void **state)
{
	struct debuginfod *d = fetcher(server.url, 1 << 20);
	char fetched[256], path[256], build_id[DEBUGINFOD_ID_HEX_SIZE];
	struct symbolizer_opts opts = { .debug_dir = "/nonexistent",
		                        .fetched_dir = fetched,
		                        .debug_missing = ask,
		                        .missing_context = d };
	struct symbolizer *s;
	struct sym_process *p;
	struct sym_result r;
	uint64_t address;

	(void)state;
	snprintf(fetched, sizeof(fetched), "%s/cache/debuginfod", program_dir);
	snprintf(path, sizeof(path), "%s/x.so", program_dir);
	assert_int_equal(shell("strip --strip-debug -o '%s' '%s'", path, server.file), 0);
	s = symbolizer_new(&opts);
	p = symbolizer_process(s, 1, 0);
	symbolizer_process_exit(p);
	assert_int_equal(symbolizer_process_map(p, 0x10000, 0x20000, 0, 0, 0, 0, path), 0);
	for (address = 0x11000; address < 0x12000; address++)
		if (!symbolizer_user(p, address, false, &r) && strcmp(r.frames[0].function, "shown") == 0)
			break;
	assert_int_equal(r.source, SYM_SOURCE_SYMTAB);
	assert_int_equal(r.frames[0].line, 0);
	assert_counted(d, "1 1 0 0 0");
	symbolizer_user(p, address, false, &r);
	assert_int_equal(r.source, SYM_SOURCE_SYMTAB); /* not told yet */
	while (debuginfod_take(d, build_id))
		symbolizer_debug_arrived(s, build_id);
	symbolizer_user(p, address, false, &r);
	assert_int_equal(r.source, SYM_SOURCE_DWARF);
	assert_string_equal(r.frames[0].function, "shown");
	assert_int_equal(r.frames[0].line, 1);
	symbolizer_free(s);
	debuginfod_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_debuginfod__fetches, start_server, stop_server),
		cmocka_unit_test_setup_teardown(test_debuginfod__not_found, start_server, stop_server),
		cmocka_unit_test_setup_teardown(test_debuginfod__garbage, start_server, stop_server),
		cmocka_unit_test_setup_teardown(test_debuginfod__too_large, start_server, stop_server),
		cmocka_unit_test_setup_teardown(test_debuginfod__several_servers, start_server, stop_server),
		cmocka_unit_test_setup_teardown(test_debuginfod__hangs, start_server, stop_server),
		cmocka_unit_test_setup_teardown(test_debuginfod__bounded_dir, start_server, stop_server),
		cmocka_unit_test_setup_teardown(test_debuginfod__not_configured, start_server, stop_server),
		cmocka_unit_test_setup_teardown(test_debuginfod__symbolizer, start_server, stop_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
