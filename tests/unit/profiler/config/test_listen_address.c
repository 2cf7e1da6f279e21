/* Tests of listen_address.h: which texts are addresses to listen on, and who reaches them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/config/listen_address.h"

static void test_listen_address__what_is_taken_is_printed_again(void **state)
{
	static const struct {
		const char *text;
		bool is_loopback;
	} good[] = { { "127.0.0.1:4041", true },        { "127.9.9.9:1", true },    { "[::1]:65535", true },
		     { "0.0.0.0:4041", false },         { "10.1.2.3:0", false },    { "[::]:4041", false },
		     { "[::ffff:127.0.0.1]:80", true }, { "[fe80::1]:80", false },  { "128.0.0.1:80", false },
		     { "[::ffff:10.0.0.1]:80", false }, { "[2001:db8::]:5", false } };
	struct listen_address address;
	char text[LISTEN_ADDRESS_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(listen_address_parse(good[i].text, &address));
		assert_int_equal(address.is_loopback, good[i].is_loopback);
		listen_address_print(&address.address, text);
		assert_string_equal(text, good[i].text);
	}
}

static void test_listen_address__what_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		":",
		"4041",
		":4041",
		"127.0.0.1",
		"127.0.0.1:",
		"127.0.0.1:x",
		"127.0.0.1:-1",
		"127.0.0.1:+80",
		"127.0.0.1: 80",
		"127.0.0.1:080",
		"127.0.0.1:65536",
		"127.0.0.1:4294967377",
		"127.0.0.1:80 ",
		"127.0.0.1:80:80",
		"127.1:80",
		"localhost:4041",
		"*:4041",
		"::1:4041",
		"[::1]",
		"[::1]4041",
		"[::1:4041",
		"::1]:4041",
		"[]:4041",
		"[:4041",
		"[127.0.0.1]:4041",
		"[fe80::1%eth0]:4041",
		"http://127.0.0.1:4041",
		"[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001]:4041",
	};
	struct listen_address address;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (listen_address_parse(bad[i], &address))
			fail_msg("%s is taken", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listen_address__what_is_taken_is_printed_again),
		cmocka_unit_test(test_listen_address__what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
