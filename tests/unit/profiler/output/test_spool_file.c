/* Tests of spool_file.h: what is written is read again, and of damaged bytes nothing. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "profiler/output/spool_file.h"
#include "tests/unit/profiler/output/spool_window.h"

static const char *const bodies[] = { "one", "two two", "three" };

static uint8_t *encoded(size_t *len)
{
	struct push_window *window = spool_window("llama", bodies, 3);
	uint8_t *bytes = NULL;

	assert_non_null(window);
	window->at = 1;
	window->failed = true;
	window->unanswered = 1;
	assert_int_equal(spool_file_encode(window, &bytes, len), 0);
	push_window_free(window);
	return bytes;
}

/* In memory of just its size, so that a sanitizer sees a read beyond its end. */
static int decode(const uint8_t *bytes, size_t len, struct push_window *window, const char **fault)
{
	uint8_t *copy = malloc(len ? len : 1);
	int err;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	err = spool_file_decode(copy, len, window, fault);
	free(copy);
	return err;
}

static void test_spool_file__what_is_written_is_read(void **state)
{
	struct push_window window = { .number = 7 };
	const char *fault;
	size_t len;
	uint8_t *bytes = encoded(&len);

	(void)state;
	assert_int_equal(decode(bytes, len, &window, &fault), 0);
	assert_int_equal(window.labels->n, 3);
	assert_string_equal(window.labels->label[0].name, "service_name");
	assert_string_equal(window.labels->label[1].value, "llama");
	assert_string_equal(window.labels->label[2].value, "");
	assert_int_equal(window.n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_ptr_equal(window.request[i].series, &series_table[i]);
		assert_int_equal(window.request[i].len, strlen(bodies[i]));
		assert_memory_equal(window.request[i].body, bodies[i], strlen(bodies[i]));
	}
	assert_int_equal(window.at, 1);
	assert_int_equal(window.unanswered, 1);
	assert_true(window.failed);
	assert_int_equal(window.number, 7);
	push_window_unload(&window);
	free(bytes);
}

static void test_spool_file__the_progress_is_written_in_place(void **state)
{
	struct push_window window = { 0 };
	uint8_t progress[SPOOL_PROGRESS_BYTES];
	const char *fault;
	size_t len;
	uint8_t *bytes = encoded(&len);

	(void)state;
	assert_int_equal(decode(bytes, len, &window, &fault), 0);
	window.at = 3;
	window.failed = false;
	spool_file_progress(&window, progress);
	memcpy(bytes + SPOOL_PROGRESS_OFFSET, progress, sizeof(progress));
	push_window_unload(&window);
	assert_int_equal(decode(bytes, len, &window, &fault), 0);
	assert_int_equal(window.at, 3);
	assert_false(window.failed);
	push_window_unload(&window);
	free(bytes);
}

static void assert_damaged(const uint8_t *bytes, size_t len, const char *what, size_t at)
{
	struct push_window window = { .number = 7 };
	const char *fault = NULL;

	if (decode(bytes, len, &window, &fault) != -EBADMSG || !fault)
		fail_msg("%s at byte %zu is not seen", what, at);
	assert_null(window.labels);
	assert_null(window.request);
	assert_int_equal(window.n, 0);
	assert_int_equal(window.number, 7);
}

static void test_spool_file__cut_at_every_byte_it_is_damaged(void **state)
{
	size_t len;
	uint8_t *bytes = encoded(&len);

	(void)state;
	for (size_t at = 0; at < len; at++)
		assert_damaged(bytes, at, "a cut", at);
	free(bytes);
}

static void test_spool_file__with_any_bit_changed_it_is_damaged(void **state)
{
	size_t len;
	uint8_t *bytes = encoded(&len);

	(void)state;
	for (size_t at = 0; at < 8 * len; at++) {
		bytes[at / 8] ^= (uint8_t)(1 << at % 8);
		assert_damaged(bytes, len, "a changed bit", at / 8);
		bytes[at / 8] ^= (uint8_t)(1 << at % 8);
	}
	free(bytes);
}

static void test_spool_file__more_at_its_end_is_damage(void **state)
{
	size_t len;
	uint8_t *bytes = encoded(&len), *longer = calloc(1, len + 1);

	(void)state;
	assert_non_null(longer);
	memcpy(longer, bytes, len);
	assert_damaged(longer, len + 1, "a byte more", len);
	free(longer);
	free(bytes);
}

/* Replaces one byte of the content and makes the checksum right: what somebody made up. */
static void assert_made_up_is_damaged(size_t at, uint8_t byte, const char *what)
{
	const size_t content = SPOOL_PROGRESS_OFFSET + SPOOL_PROGRESS_BYTES;
	size_t len;
	uint8_t *bytes = encoded(&len);
	uint32_t sum;

	assert_true(content + at < len);
	bytes[content + at] = byte;
	sum = (uint32_t)crc32_z(0, bytes + content, len - content);
	memcpy(bytes + SPOOL_PROGRESS_OFFSET - sizeof(sum), &sum, sizeof(sum));
	assert_damaged(bytes, len, what, at);
	free(bytes);
}

static void test_spool_file__what_is_made_up_is_damaged(void **state)
{
	const size_t name = 4, requests = name + 16 + 9 + 7 + 9 + 9 + 4;

	(void)state;
	assert_made_up_is_damaged(0, 30, "the number of labels");
	assert_made_up_is_damaged(0, 2, "a label less");
	assert_made_up_is_damaged(name + 4, 0, "a zero in a text");
	assert_made_up_is_damaged(name + 1, 0xff, "the length of a text");
	assert_made_up_is_damaged(requests, 0, "no request");
	assert_made_up_is_damaged(requests, 4, "a request more");
	assert_made_up_is_damaged(requests, 2, "a request less");
	assert_made_up_is_damaged(requests + 2, 1, "the number of requests");
	assert_made_up_is_damaged(requests + 8, 'B', "an unknown series");
	assert_made_up_is_damaged(requests + 13, 0, "an empty request");
	assert_made_up_is_damaged(requests + 16, 0xff, "the length of a request");
}

static void test_spool_file__has_bounds(void **state)
{
	const char *body = "x";
	struct push_window *window = spool_window("a", NULL, 0);
	uint8_t *bytes;
	size_t len;

	(void)state;
	assert_int_equal(spool_file_encode(window, &bytes, &len), -EINVAL);
	for (size_t i = 0; i <= SPOOL_REQUESTS_MAX; i++)
		assert_int_equal(push_window_add(window, &series_table[0], strdup(body), 1), 0);
	assert_int_equal(spool_file_encode(window, &bytes, &len), -EFBIG);
	push_window_free(window);
	window = spool_window("a", &body, 1);
	window->request[0].len = SPOOL_FILE_MAX;
	assert_int_equal(spool_file_encode(window, &bytes, &len), -EFBIG);
	push_window_free(window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spool_file__what_is_written_is_read),
		cmocka_unit_test(test_spool_file__the_progress_is_written_in_place),
		cmocka_unit_test(test_spool_file__cut_at_every_byte_it_is_damaged),
		cmocka_unit_test(test_spool_file__with_any_bit_changed_it_is_damaged),
		cmocka_unit_test(test_spool_file__more_at_its_end_is_damage),
		cmocka_unit_test(test_spool_file__what_is_made_up_is_damaged),
		cmocka_unit_test(test_spool_file__has_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
