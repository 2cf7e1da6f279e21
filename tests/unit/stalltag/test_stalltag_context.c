/* Tests of the process context: its content, how its mapping is recognised, and which trace the tags belong to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "stalltag/foreign_publisher.h"
#include "stalltag/process_context.h"
#include "stalltag/trace_id.h"

static bool holds(const uint8_t *bytes, int length, const char *text)
{
	return length > 0 && memmem(bytes, (size_t)length, text, strlen(text)) != NULL;
}

/* protoc --decode_raw reads the same bytes in tests/e2e/test_stalltag_readers. */
static void test_stalltag_context__threadlocal_attributes(void **state)
{
	static const uint8_t want[] = "\x12\x2e\x0a\x1a"
	                              "threadlocal.schema_version"
	                              "\x12\x10\x0a\x0e"
	                              "tlsdesc_v1_dev"
	                              "\x12\x2d\x0a\x1d"
	                              "threadlocal.attribute_key_map"
	                              "\x12\x0c\x2a\x0a\x0a\x08\x0a\x06"
	                              "ai_tag";
	uint8_t out[512];

	(void)state;
	assert_int_equal(process_context_encode(out, sizeof(out), NULL, NULL), sizeof(want) - 1);
	assert_memory_equal(out, want, sizeof(want) - 1);
	assert_int_equal(process_context_encode(out, sizeof(want) - 1, NULL, NULL), sizeof(want) - 1);
	for (size_t size = 0; size < sizeof(want) - 1; size++)
		assert_int_equal(process_context_encode(out, size, NULL, NULL), -ENOSPC);
}

static void test_stalltag_context__resource(void **state)
{
	static const char attributes[] =
	        "service.name=loses,run=42,bad%zz=1,=empty,no_equals,job=a%20b%2Cc, spaced = x\t";
	uint8_t out[512];
	int length;

	(void)state;
	length = process_context_encode(out, sizeof(out), "trainer", attributes);
	assert_true(holds(out, length, "\x0a\x0cservice.name\x12\x09\x0a\x07trainer"));
	assert_true(holds(out, length,
	                  "\x0a\x03run\x12\x04\x0a\x02"
	                  "42"));
	assert_true(holds(out, length,
	                  "\x0a\x03job\x12\x07\x0a\x05"
	                  "a b,c"));
	assert_true(holds(out, length, "\x0a\x06spaced\x12\x03\x0a\x01x"));
	assert_false(holds(out, length, "loses"));
	assert_false(holds(out, length, "bad"));
	assert_false(holds(out, length, "empty"));
	length = process_context_encode(out, sizeof(out), NULL, "service.name=from_attributes");
	assert_true(holds(out, length, "from_attributes"));
}

static void test_stalltag_context__what_does_not_fit_is_left_out(void **state)
{
	char long_name[3000];
	uint8_t out[200];
	int plain, length;

	(void)state;
	memset(long_name, 's', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	plain = process_context_encode(out, sizeof(out), NULL, NULL);
	length = process_context_encode(out, sizeof(out), long_name, NULL);
	assert_int_equal(length, plain);
	long_name[150] = '\0';
	assert_int_equal(process_context_encode(out, sizeof(out), long_name, NULL), plain);
	assert_true(process_context_encode(out, sizeof(out), "short", NULL) > plain);
}

static void test_stalltag_context__mappings(void **state)
{
	(void)state;
	assert_true(foreign_publisher_line(
	        "7f12-7f13 rw-p 00000000 00:01 1042                   /memfd:OTEL_CTX (deleted)", 0));
	assert_true(foreign_publisher_line("7f12-7f13 rw-p 00000000 00:01 1042 /memfd:OTEL_CTX", 0));
	assert_true(foreign_publisher_line("7f12-7f13 rw-p 00000000 00:00 0  [anon:OTEL_CTX]", 0));
	assert_true(foreign_publisher_line("7f12-7f13 rw-s 00000000 00:00 0  [anon_shmem:OTEL_CTX]", 0x7f13));
	assert_false(
	        foreign_publisher_line("7f12-7f13 rw-s 00000000 00:00 0  [anon_shmem:OTEL_CTX]", 0x7f12));
	assert_false(foreign_publisher_line("7f12-7f13 rw-p 00000000 00:01 1042 /memfd:OTEL_CTX_BACKUP", 0));
	assert_false(foreign_publisher_line("7f12-7f13 rw-p 00000000 08:01 1042 /data/OTEL_CTX", 0));
	assert_false(foreign_publisher_line("7f12-7f13 rw-p 00000000 00:00 0 ", 0));
	assert_false(foreign_publisher_line("", 0));
}

static void test_stalltag_context__traceparent(void **state)
{
	static const char *const refused[] = {
		"",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
		"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.more",
		"00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
	};
	static const uint8_t want[16] = { 0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd,
		                          0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c };
	uint8_t id[16], flags;

	(void)state;
	assert_true(trace_id_parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", id, &flags));
	assert_memory_equal(id, want, sizeof(want));
	assert_int_equal(flags, 1);
	assert_true(
	        trace_id_parse("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-more", id, &flags));
	assert_int_equal(flags, 3);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_false(trace_id_parse(refused[i], id, &flags));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalltag_context__threadlocal_attributes),
		cmocka_unit_test(test_stalltag_context__resource),
		cmocka_unit_test(test_stalltag_context__what_does_not_fit_is_left_out),
		cmocka_unit_test(test_stalltag_context__mappings),
		cmocka_unit_test(test_stalltag_context__traceparent),
	};

	return cmocka_run_group_tests_name("stalltag_context", tests, NULL, NULL);
}
