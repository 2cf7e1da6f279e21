/* Tests of json_writer.h: nesting, strings, misuse, and a full disk. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/json_writer.h"

struct output {
	struct json_writer json;
	FILE *stream;
	char *text;
	size_t size;
};

static void begin(struct output *output)
{
	output->stream = open_memstream(&output->text, &output->size);
	assert_non_null(output->stream);
	json_begin(&output->json, output->stream);
}

static void assert_output(struct output *output, const char *expected)
{
	assert_int_equal(json_end(&output->json), 0);
	fclose(output->stream);
	assert_string_equal(output->text, expected);
	free(output->text);
}

static void test_json_writer__nesting(void **state)
{
	struct output output;
	struct json_writer *json = &output.json;

	(void)state;
	begin(&output);
	json_object_begin(json);
	json_member_u64(json, "a", UINT64_MAX);
	json_key(json, "b");
	json_array_begin(json);
	json_i64(json, INT64_MIN);
	json_bool(json, true);
	json_string(json, NULL);
	json_object_begin(json);
	json_object_end(json);
	json_array_end(json);
	json_key(json, "c");
	json_array_begin(json);
	json_array_end(json);
	json_key(json, "d");
	json_double(json, 1.5);
	json_key(json, "e");
	json_double(json, NAN);
	json_object_end(json);
	assert_output(&output,
	              "{\n  \"a\": 18446744073709551615,\n  \"b\": [\n    -9223372036854775808,\n    true,\n"
	              "    null,\n    {}\n  ],\n  \"c\": [],\n  \"d\": 1.500000000,\n  \"e\": null\n}\n");
}

static void test_json_writer__strings(void **state)
{
	struct output output;

	(void)state;
	begin(&output);
	json_string(&output.json, "a\"\\\b\f\n\r\t/\x01\x7f\xc3\xa9\xf0\x9f\x98\x80\xff\xed\xa0\x80");
	assert_output(&output, "\"a\\\"\\\\\\b\\f\\n\\r\\t/\\u0001\\u007f\xc3\xa9\xf0\x9f\x98\x80"
	                       "\\ufffd\\ufffd\\ufffd\\ufffd\"\n");
}

/* Terminals obey those above ASCII, too. */
static void test_json_writer__control_characters_of_8_bits(void **state)
{
	struct output output;

	(void)state;
	begin(&output);
	json_string(&output.json, "\xc2\x80\xc2\x9b"
	                          "2J\xc2\x9f\xc2\xa0");
	assert_output(&output, "\"\\u0080\\u009b2J\\u009f\xc2\xa0\"\n");
}

static void test_json_writer__compact(void **state)
{
	struct output output;

	(void)state;
	begin(&output);
	json_begin_compact(&output.json, output.stream);
	json_object_begin(&output.json);
	json_key(&output.json, "a");
	json_array_begin(&output.json);
	json_i64(&output.json, 1);
	json_i64(&output.json, 2);
	json_array_end(&output.json);
	json_member_i64(&output.json, "b", 3);
	json_object_end(&output.json);
	assert_output(&output, "{\"a\":[1,2],\"b\":3}\n");
}

static void test_json_writer__misuse_is_reported(void **state)
{
	struct output output;

	(void)state;
	for (int mistake = 0; mistake < 4; mistake++) {
		begin(&output);
		if (mistake == 0)
			json_object_begin(&output.json);
		else if (mistake == 1)
			json_array_end(&output.json);
		else if (mistake == 2)
			json_key(&output.json, "a"), json_key(&output.json, "b");
		else
			for (int i = 0; i <= JSON_DEPTH_MAX; i++)
				json_array_begin(&output.json);
		assert_int_equal(json_end(&output.json), -EINVAL);
		fclose(output.stream);
		free(output.text);
	}
}

static void test_json_writer__full_disk(void **state)
{
	struct json_writer json;
	FILE *full = fopen("/dev/full", "we");

	(void)state;
	assert_non_null(full);
	json_begin(&json, full);
	json_string(&json, "x");
	assert_int_equal(json_end(&json), -EIO);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_writer__nesting),
		cmocka_unit_test(test_json_writer__strings),
		cmocka_unit_test(test_json_writer__control_characters_of_8_bits),
		cmocka_unit_test(test_json_writer__compact),
		cmocka_unit_test(test_json_writer__misuse_is_reported),
		cmocka_unit_test(test_json_writer__full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
