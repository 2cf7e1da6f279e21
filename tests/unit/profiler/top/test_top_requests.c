/* Tests of top_requests.h: which devices and classes are shown, in which order, and how. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/json_writer.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/top/top_requests.h"

#define MIB (1024ull * 1024)
#define MS  1000000ull

static void add(struct loaded_profiles *input, const char *device, const char *class, enum request_op op,
                bool writeback, uint64_t requests, uint64_t bytes, uint64_t ns)
{
	struct request_row row = { device, class, op, writeback, requests, bytes, ns };

	assert_int_equal(request_rows_add(input->requests, &row), 0);
}

static void fill(struct loaded_profiles *input)
{
	*input = (struct loaded_profiles){ .requests = request_rows_new() };
	assert_non_null(input->requests);
	add(input, "sda", "", REQUEST_READ, false, 9, 9 * MIB, 9000 * MS); /* of no tag: not shown */
	add(input, "vda", "ckpt", REQUEST_WRITE, true, 3, 3 * MIB, 30 * MS);
	add(input, "vda", "ckpt", REQUEST_WRITE, false, 1, 1 * MIB, 10 * MS);
	add(input, "vda", "load", REQUEST_READ, false, 2000, 2048 * MIB, 150 * MS);
	add(input, "vda", "", REQUEST_FLUSH, false, 5, 0, 10 * MS);
	add(input, "nvme0n1", "load", REQUEST_READ, false, 1, 512, 1000);
}

static char *text_of(const struct top_requests *requests, size_t limit, size_t columns, size_t lines)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(top_text_requests(out, requests, limit, columns), lines);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_top_requests__text(void **state)
{
	struct loaded_profiles input;
	struct top_requests requests;
	char *text;

	(void)state;
	fill(&input);
	assert_int_equal(top_requests_build(&requests, &input), 0);
	text = text_of(&requests, 0, 0, 5);
	assert_string_equal(
	        text, "Whose requests the devices served, and how long one took:\n"
	              "  vda      load      2.00 GiB read in 2000, mean 75.0 us, 75.0 % of the time\n"
	              "  vda      ckpt      4.00 MiB written in 4, mean 10.0 ms, 20.0 % of the time (75 % by "
	              "writeback)\n"
	              "  vda      (no tag)  flushed in 5, mean 2.00 ms, 5.0 % of the time\n"
	              "  nvme0n1  load      512 bytes read in 1, mean 1.00 us, 100.0 % of the time\n");
	free(text);
	text = text_of(&requests, 1, 14, 2);
	assert_non_null(strstr(text, "\n  vda  load  …\n"));
	free(text);
	top_requests_free(&requests);
	request_rows_free(input.requests);
}

static void test_top_requests__none(void **state)
{
	struct loaded_profiles input = { .requests = request_rows_new() };
	struct top_requests requests;

	(void)state;
	add(&input, "sda", "", REQUEST_READ, false, 9, 9, 9);
	assert_int_equal(top_requests_build(&requests, &input), 0);
	assert_int_equal(requests.count, 0);
	assert_int_equal(top_text_requests(NULL, &requests, 0, 0), 0);
	top_requests_free(&requests);
	request_rows_free(input.requests);
}

static void test_top_requests__json(void **state)
{
	struct loaded_profiles input = { .requests = request_rows_new() };
	struct json_writer json;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	add(&input, "sda", "", REQUEST_READ, false, 1, 2, 3);
	json_begin(&json, out);
	json_object_begin(&json);
	top_json_requests(&json, &input);
	json_object_end(&json);
	assert_int_equal(json_end(&json), 0);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "\"class\": null"));
	assert_non_null(strstr(text, "\"op\": \"read\""));
	assert_non_null(strstr(text, "\"writeback\": false"));
	assert_non_null(strstr(text, "\"bytes\": 2"));
	free(text);
	request_rows_free(input.requests);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_requests__text),
		cmocka_unit_test(test_top_requests__none),
		cmocka_unit_test(test_top_requests__json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
