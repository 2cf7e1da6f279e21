/* Tests of scrape.h: what is answered over HTTP, to whom, and what a new configuration changes. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/config/config.h"
#include "profiler/config/listen_address.h"
#include "profiler/output/sink.h"
#include "profiler/scrape/scrape.h"
#include "symbolizer/base/clock.h"

#define SECOND 1000000000ULL

static char answer[1 << 20];

static struct config *config_with(const char *listen, const char *token_file)
{
	struct config *config = config_default();
	char err[256] = "";

	assert_int_equal(config_set(config, "scrape.listen", listen, err, sizeof(err)), 0);
	assert_int_equal(config_set(config, "scrape.bearer_token_file", token_file, err, sizeof(err)), 0);
	return config;
}

/* 0, or the error with its line in `err`. */
static int configure(struct scrape *scrape, const char *listen, const char *token_file, char err[512])
{
	struct config *config = config_with(listen, token_file);
	struct scrape_plan *plan = scrape_plan_new(scrape, config, err, 512);
	int error = errno;

	config_free(config);
	if (!plan)
		return error;
	return -scrape_adopt(scrape, plan, err, 512);
}

static int connect_to(const char *address)
{
	struct listen_address parsed;
	int fd;

	assert_true(listen_address_parse(address, &parsed));
	fd = socket(parsed.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	if (!connect(fd, (const struct sockaddr *)&parsed.address, parsed.length))
		return fd;
	close(fd);
	return -1;
}

/* What comes back until the end, in `answer`; its length. */
static size_t read_answer(int fd)
{
	size_t length = 0;
	ssize_t got;

	while (length < sizeof(answer) - 1 &&
	       (got = read(fd, answer + length, sizeof(answer) - 1 - length)) > 0)
		length += (size_t)got;
	answer[length] = '\0';
	return length;
}

/* The status; the rest is in `answer`. */
static int ask(const char *address, const char *method, const char *path, const char *header)
{
	char request[512];
	int fd = connect_to(address), status = 0;

	assert_true(fd >= 0);
	snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: x\r\n%s\r\n", method, path, header);
	assert_int_equal(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	read_answer(fd);
	close(fd);
	if (!strncmp(answer, "HTTP/1.1 ", 9))
		status = (int)strtol(answer + 9, NULL, 10);
	return status;
}

static int get(const struct scrape *scrape, const char *path)
{
	return ask(scrape_address(scrape), "GET", path, "");
}

static void expect_text(const char *text)
{
	if (!strstr(answer, text))
		fail_msg("there is no %s in\n%s", text, answer);
}

static void take_window(struct scrape *scrape)
{
	const struct profile_value_type types[] = { { "contentions", "count" },
		                                    { "delay", "nanoseconds" },
		                                    { "cpu", "nanoseconds" } };
	const struct profile_frame frame = { .function = "read" };
	const int64_t values[] = { 1, 500, 0 };
	struct profile *p = profile_new(types, 3, types[0], 1, 1 << 20);
	int64_t location = profile_location(p, 0, 0, &frame, 1);

	assert_int_equal(profile_add_sample(p, &location, 1, values, NULL, 0), 0);
	profile_set_time(p, 1700000000000000000, 10 * (int64_t)SECOND);
	assert_int_equal(profile_add_note(p, "stallprof.format 2"), 0);
	assert_int_equal(
	        profile_add_note(p, "stallprof.ledger tag=a id=0000000000000001 pid=1 start=5 state=oncpu "
	                            "class=a ns=7 count=0"),
	        0);
	scrape_take(scrape, p);
	profile_free(p);
}

static void test_scrape__pages(void **state)
{
	struct scrape *scrape = scrape_new();
	char err[512];

	(void)state;
	assert_null(scrape_address(scrape));
	take_window(scrape); /* is not looked at */
	assert_int_equal(configure(scrape, "127.0.0.1:0", "", err), 0);
	assert_int_equal(get(scrape, "/metrics"), 200);
	expect_text("Content-Type: text/plain; version=0.0.4");
	expect_text("\nstallprof_build_info{");
	assert_null(strstr(answer, "stallprof_tag_seconds_total{"));
	assert_int_equal(get(scrape, "/debug/pprof/block"), 503);
	assert_int_equal(get(scrape, "/debug/pprof/delta_block"), 200);
	take_window(scrape);
	assert_int_equal(get(scrape, "/metrics"), 200);
	expect_text("stallprof_tag_seconds_total{ai_tag=\"a\",state=\"oncpu\"} 0.000000007\n");
	assert_int_equal(get(scrape, "/debug/pprof/block"), 200);
	expect_text("Content-Type: application/octet-stream");
	expect_text("\r\n\r\n\x1f\x8b");
	assert_int_equal(get(scrape, "/debug/pprof/block?seconds=0"), 400);
	assert_int_equal(get(scrape, "/debug/pprof/heap"), 404);
	assert_int_equal(get(scrape, "/metrics%00"), 404);
	assert_int_equal(get(scrape, "/m%65trics"), 200);
	assert_int_equal(get(scrape, "/"), 200);
	expect_text("/debug/pprof/delta_block");
	assert_int_equal(ask(scrape_address(scrape), "HEAD", "/metrics", ""), 200);
	assert_null(strstr(answer, "stallprof_build_info"));
	assert_int_equal(ask(scrape_address(scrape), "POST", "/metrics", ""), 405);
	expect_text("Allow: GET, HEAD");
	scrape_poll(scrape, &(const struct sink_counts){ .not_pushed = 3 });
	assert_int_equal(get(scrape, "/metrics"), 200);
	expect_text("\nstallprof_windows_not_pushed_total 3\n");
	expect_text("\nstallprof_windows_not_scraped_total 0\n");
	scrape_take(scrape, NULL);
	scrape_poll(scrape, &(const struct sink_counts){ .not_pushed = 3 });
	assert_int_equal(get(scrape, "/metrics"), 200);
	expect_text("\nstallprof_windows_not_scraped_total 1\n");
	scrape_poll(scrape, &(const struct sink_counts){ .not_pushed = 3, .pushing_fails = true });
	assert_int_equal(get(scrape, "/metrics"), 200);
	expect_text("\n# TYPE stallprof_pushing_fails gauge\nstallprof_pushing_fails 1\n");
	expect_text("\nstallprof_windows_waiting 0\n");
	scrape_poll(scrape, &(const struct sink_counts){ .not_pushed = 3, .waiting = 5 });
	assert_int_equal(get(scrape, "/metrics"), 200);
	expect_text("\nstallprof_pushing_fails 0\n");
	expect_text("\n# TYPE stallprof_windows_waiting gauge\nstallprof_windows_waiting 5\n");
	scrape_stop(scrape);
	assert_null(scrape_address(scrape));
	scrape_free(scrape);
}

static void write_token(const char *path, const char *token)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fprintf(file, "%s\n", token);
	fclose(file);
}

static void test_scrape__token(void **state)
{
	char path[] = "/tmp/stallprof-token-XXXXXX", err[512] = "", address[LISTEN_ADDRESS_MAX];
	struct scrape *scrape = scrape_new();

	(void)state;
	close(mkstemp(path));
	write_token(path, "first");
	assert_int_equal(configure(scrape, "0.0.0.0:0", path, err), 0);
	assert_false(scrape_is_open(scrape));
	snprintf(address, sizeof(address), "127.0.0.1%s", strrchr(scrape_address(scrape), ':'));
	assert_int_equal(ask(address, "GET", "/", ""), 401);
	expect_text("WWW-Authenticate: Bearer");
	assert_int_equal(ask(address, "POST", "/", ""), 401);
	assert_int_equal(ask(address, "GET", "/", "Authorization: Bearer firs\r\n"), 401);
	assert_int_equal(ask(address, "GET", "/", "Authorization: Bearer firsu\r\n"), 401);
	assert_int_equal(ask(address, "GET", "/", "Authorization: Bearer firstfirst\r\n"), 401);
	assert_int_equal(ask(address, "GET", "/", "Authorization: Bearer \r\n"), 401);
	assert_int_equal(ask(address, "GET", "/", "Authorization: Bearer first\r\n"), 200);
	write_token(path, "second");
	assert_int_equal(configure(scrape, "0.0.0.0:0", path, err), 0);
	assert_int_equal(ask(address, "GET", "/", "Authorization: Bearer first\r\n"), 401);
	assert_int_equal(ask(address, "GET", "/", "Authorization: Bearer second\r\n"), 200);
	unlink(path);
	assert_int_equal(configure(scrape, "0.0.0.0:0", path, err), ENOENT);
	assert_int_equal(ask(address, "GET", "/", ""), 401);
	assert_int_equal(configure(scrape, "0.0.0.0:0", "", err), 0);
	assert_true(scrape_is_open(scrape));
	assert_int_equal(ask(address, "GET", "/", ""), 200);
	scrape_free(scrape);
}

/* As Kubernetes and Vault do, without a reload. */
static void test_scrape__a_new_token_needs_no_reload(void **state)
{
	char path[] = "/tmp/stallprof-token-XXXXXX", err[512] = "";
	struct scrape *scrape = scrape_new();
	uint64_t began = monotonic_ns();

	(void)state;
	close(mkstemp(path));
	write_token(path, "first");
	assert_int_equal(configure(scrape, "127.0.0.1:0", path, err), 0);
	write_token(path, "second");
	while (ask(scrape_address(scrape), "GET", "/", "Authorization: Bearer second\r\n") != 200 &&
	       monotonic_ns() - began < 30 * SECOND)
		usleep(100000);
	assert_int_equal(ask(scrape_address(scrape), "GET", "/", "Authorization: Bearer second\r\n"), 200);
	assert_int_equal(ask(scrape_address(scrape), "GET", "/", "Authorization: Bearer first\r\n"), 401);
	unlink(path);
	usleep(1100000);
	assert_int_equal(ask(scrape_address(scrape), "GET", "/", "Authorization: Bearer second\r\n"), 200);
	assert_int_equal(ask(scrape_address(scrape), "GET", "/", ""), 401);
	scrape_free(scrape);
}

static int check(const char *listen, char err[512])
{
	struct config *config = config_with(listen, "");
	int result = scrape_check(config, err, 512);

	config_free(config);
	return result;
}

/* Without taking the port. */
static void test_scrape__addresses_are_checked(void **state)
{
	struct scrape *scrape = scrape_new();
	char err[512] = "", address[LISTEN_ADDRESS_MAX];

	(void)state;
	assert_int_equal(configure(scrape, "127.0.0.1:0", "", err), 0);
	snprintf(address, sizeof(address), "%s", scrape_address(scrape));
	assert_int_equal(check(address, err), -EADDRINUSE);
	assert_non_null(strstr(err, " is in use by another program: "));
	assert_int_equal(check("192.0.2.1:4041", err), -EADDRNOTAVAIL);
	assert_int_equal(configure(scrape, "", "", err), 0);
	assert_int_equal(check(address, err), 0);
	assert_int_equal(check("", err), 0);
	assert_int_equal(configure(scrape, address, "", err), 0);
	scrape_free(scrape);
}

static void test_scrape__addresses(void **state)
{
	struct scrape *scrape = scrape_new(), *other = scrape_new();
	char err[512] = "", first[LISTEN_ADDRESS_MAX], taken[LISTEN_ADDRESS_MAX];

	(void)state;
	assert_int_equal(configure(other, "127.0.0.1:0", "", err), 0);
	snprintf(taken, sizeof(taken), "%s", scrape_address(other));
	assert_int_equal(configure(scrape, taken, "", err), EADDRINUSE);
	assert_non_null(strstr(err, " is in use by another program: "));
	assert_int_equal(configure(scrape, "192.0.2.1:4041", "", err), EADDRNOTAVAIL);
	assert_non_null(strstr(err, "this host does not have that address"));
	assert_null(scrape_address(scrape));
	assert_int_equal(configure(scrape, "127.0.0.1:0", "", err), 0);
	snprintf(first, sizeof(first), "%s", scrape_address(scrape));
	take_window(scrape);
	assert_int_equal(configure(scrape, taken, "", err), EADDRINUSE);
	assert_int_equal(ask(first, "GET", "/", ""), 200);
	assert_int_equal(configure(scrape, "[::1]:0", "", err), 0);
	assert_int_equal(connect_to(first), -1);
	assert_int_equal(get(scrape, "/metrics"), 200);
	expect_text("stallprof_tag_seconds_total{ai_tag=\"a\",state=\"oncpu\"} 0.000000007\n");
	snprintf(first, sizeof(first), "%s", scrape_address(scrape));
	assert_int_equal(configure(scrape, "", "", err), 0);
	assert_int_equal(connect_to(first), -1);
	assert_null(scrape_address(scrape));
	/* The port is free again at once. */
	assert_int_equal(configure(scrape, first, "", err), 0);
	assert_int_equal(get(scrape, "/"), 200);
	scrape_free(scrape);
	scrape_free(other);
}

/* The kernel takes no second socket for a port while all of its addresses, or one of them, are listened on. */
static void test_scrape__another_address_of_the_same_port(void **state)
{
	struct scrape *scrape = scrape_new();
	char err[512] = "", all[LISTEN_ADDRESS_MAX], one[LISTEN_ADDRESS_MAX];

	(void)state;
	assert_int_equal(configure(scrape, "127.0.0.1:0", "", err), 0);
	snprintf(one, sizeof(one), "%s", scrape_address(scrape));
	snprintf(all, sizeof(all), "0.0.0.0%s", strrchr(one, ':'));
	assert_int_equal(configure(scrape, all, "", err), 0);
	assert_string_equal(scrape_address(scrape), all);
	assert_int_equal(ask(one, "GET", "/", ""), 200);
	assert_int_equal(configure(scrape, one, "", err), 0);
	assert_int_equal(get(scrape, "/"), 200);
	snprintf(all, sizeof(all), "192.0.2.1%s", strrchr(one, ':'));
	assert_int_equal(configure(scrape, all, "", err), EADDRNOTAVAIL);
	assert_null(scrape_address(scrape));
	assert_int_equal(configure(scrape, one, "", err), 0);
	assert_int_equal(get(scrape, "/"), 200);
	scrape_free(scrape);
}

static void test_scrape__slow_clients(void **state)
{
	const struct sink_counts none = { .kept = 0 };
	struct scrape *scrape = scrape_new();
	uint64_t began = monotonic_ns();
	char err[512] = "";
	int slow[20];

	(void)state;
	assert_int_equal(configure(scrape, "127.0.0.1:0", "", err), 0);
	for (size_t i = 0; i < 20; i++) {
		slow[i] = connect_to(scrape_address(scrape));
		assert_int_equal(write(slow[i], "GET / HT", 8), 8);
	}
	assert_int_equal(get(scrape, "/"), 200);
	while (monotonic_ns() - began < 6 * SECOND) {
		for (size_t i = 0; i < 10; i++) /* half of them go on saying a little */
			send(slow[i], "x", 1, MSG_NOSIGNAL);
		scrape_poll(scrape, &none);
		usleep(100000);
	}
	for (size_t i = 0; i < 20; i++) {
		read_answer(slow[i]);
		assert_null(strstr(answer, " 200 "));
		close(slow[i]);
	}
	assert_in_range(monotonic_ns() - began, 5 * SECOND, 9 * SECOND);
	/* Who hangs does not keep the end waiting. */
	for (size_t i = 0; i < 20; i++)
		slow[i] = connect_to(scrape_address(scrape));
	assert_int_equal(get(scrape, "/"), 200);
	began = monotonic_ns();
	scrape_stop(scrape);
	assert_true(monotonic_ns() - began < SECOND);
	for (size_t i = 0; i < 20; i++)
		close(slow[i]);
	scrape_free(scrape);
}

/* Who asks is answered within a second or two, though others hold all places, and want more. */
static void test_scrape__all_places_are_taken(void **state)
{
	const struct sink_counts none = { .kept = 0 };
	struct scrape *scrape = scrape_new();
	uint64_t began;
	char err[512] = "";
	int idle[60], asks;

	(void)state;
	assert_int_equal(configure(scrape, "127.0.0.1:0", "", err), 0);
	for (size_t i = 0; i < 60; i++)
		idle[i] = connect_to(scrape_address(scrape));
	asks = connect_to(scrape_address(scrape));
	assert_int_equal(write(asks, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27), 27);
	assert_int_equal(fcntl(asks, F_SETFL, O_NONBLOCK), 0);
	began = monotonic_ns();
	while (recv(asks, answer, 9, MSG_PEEK) < 9 && monotonic_ns() - began < 10 * SECOND) {
		scrape_poll(scrape, &none);
		usleep(100000);
	}
	assert_true(monotonic_ns() - began < 3 * SECOND);
	read_answer(asks);
	expect_text("HTTP/1.1 200");
	close(asks);
	for (size_t i = 0; i < 60; i++)
		close(idle[i]);
	scrape_free(scrape);
}

static void test_scrape__many_readers_have_to_wait(void **state)
{
	const struct sink_counts none = { .kept = 0 };
	struct scrape *scrape = scrape_new();
	char err[512] = "", path[64];

	(void)state;
	assert_int_equal(configure(scrape, "127.0.0.1:0", "", err), 0);
	take_window(scrape);
	for (int i = 0; i < 32; i++) {
		snprintf(path, sizeof(path), "/debug/pprof/delta_block?reader=r%d", i / 2);
		assert_int_equal(get(scrape, path), 200);
	}
	assert_int_equal(get(scrape, "/debug/pprof/delta_block?reader=new"), 503);
	expect_text("\r\n\r\nThere are 16 other readers ");
	assert_int_equal(get(scrape, "/debug/pprof/delta_block?reader=r7"), 200);
	for (int i = 0; i < 66; i++)
		take_window(scrape);
	assert_int_equal(get(scrape, "/debug/pprof/delta_block?reader=r7"), 200);
	assert_int_equal(get(scrape, "/debug/pprof/delta_block?reader=new"), 200);
	scrape_poll(scrape, &none);
	assert_int_equal(get(scrape, "/metrics"), 200);
	expect_text("\nstallprof_windows_missed_total 2\n");
	scrape_free(scrape);
}

static void test_scrape__many_requests_have_to_wait(void **state)
{
	struct scrape *scrape = scrape_new();
	uint64_t began;
	char err[512] = "";

	(void)state;
	assert_int_equal(configure(scrape, "127.0.0.1:0", "", err), 0);
	began = monotonic_ns();
	for (int i = 0; i < 200; i++)
		assert_int_equal(get(scrape, "/"), 200);
	assert_in_range(monotonic_ns() - began, 9 * SECOND / 10, 10 * SECOND);
	scrape_free(scrape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scrape__pages),
		cmocka_unit_test(test_scrape__token),
		cmocka_unit_test(test_scrape__a_new_token_needs_no_reload),
		cmocka_unit_test(test_scrape__addresses_are_checked),
		cmocka_unit_test(test_scrape__addresses),
		cmocka_unit_test(test_scrape__another_address_of_the_same_port),
		cmocka_unit_test(test_scrape__slow_clients),
		cmocka_unit_test(test_scrape__all_places_are_taken),
		cmocka_unit_test(test_scrape__many_readers_have_to_wait),
		cmocka_unit_test(test_scrape__many_requests_have_to_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
