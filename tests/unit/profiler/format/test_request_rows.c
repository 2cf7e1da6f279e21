/* Tests of request_rows.h: sums, order, and the way through a profile's notes. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "pprof/profile.h"
#include "profiler/format/request_rows.h"

static struct profile *new_profile(void)
{
	static const struct profile_value_type type = { "delay", "nanoseconds" };
	struct profile *profile = profile_new(&type, 1, type, 1, 1 << 24);

	assert_non_null(profile);
	return profile;
}

static void add(struct request_rows *rows, const char *device, const char *class, enum request_op op,
                bool writeback, uint64_t requests, uint64_t bytes, uint64_t ns)
{
	struct request_row row = { device, class, op, writeback, requests, bytes, ns };

	assert_int_equal(request_rows_add(rows, &row), 0);
}

static void expect(const struct request_rows *rows, size_t at, const char *device, const char *class,
                   enum request_op op, bool writeback, uint64_t requests, uint64_t bytes, uint64_t ns)
{
	const struct request_row *row = request_rows_at(rows, at);

	assert_non_null(row);
	assert_string_equal(row->device, device);
	assert_string_equal(row->class, class);
	assert_int_equal(row->op, op);
	assert_int_equal(row->writeback, writeback);
	assert_int_equal(row->requests, requests);
	assert_int_equal(row->bytes, bytes);
	assert_int_equal(row->ns, ns);
}

static struct request_rows *some_rows(void)
{
	struct request_rows *rows = request_rows_new();

	assert_non_null(rows);
	add(rows, "vdb", "load", REQUEST_READ, false, 1, 4096, 10);
	add(rows, "vda", "ck pt", REQUEST_WRITE, true, 2, 8192, 20);
	add(rows, "vda", "ck pt", REQUEST_WRITE, false, 3, 12288, 30);
	add(rows, "vda", NULL, REQUEST_FLUSH, false, 1, 0, 5);
	add(rows, "vdb", "load", REQUEST_READ, false, 1, 512, 1);
	return rows;
}

static void expect_some_rows(const struct request_rows *rows, uint64_t times)
{
	assert_int_equal(request_rows_count(rows), 4);
	expect(rows, 0, "vda", "", REQUEST_FLUSH, false, times, 0, 5 * times);
	expect(rows, 1, "vda", "ck pt", REQUEST_WRITE, false, 3 * times, 12288 * times, 30 * times);
	expect(rows, 2, "vda", "ck pt", REQUEST_WRITE, true, 2 * times, 8192 * times, 20 * times);
	expect(rows, 3, "vdb", "load", REQUEST_READ, false, 2 * times, 4608 * times, 11 * times);
	assert_null(request_rows_at(rows, 4));
}

static void test_request_rows__sums_in_order(void **state)
{
	struct request_rows *rows = some_rows();

	(void)state;
	expect_some_rows(rows, 1);
	add(rows, "vdb", "load", REQUEST_READ, false, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	expect(rows, 3, "vdb", "load", REQUEST_READ, false, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	request_rows_free(rows);
}

static void test_request_rows__through_notes(void **state)
{
	struct request_rows *rows = some_rows(), *read = request_rows_new();
	struct profile *profile = new_profile();
	size_t malformed = 0;

	(void)state;
	assert_int_equal(request_rows_to_notes(rows, profile), 0);
	assert_string_equal(profile_note(profile, 2),
	                    "stallprof.requests device=vda class=\"ck pt\" op=write "
	                    "writeback=1 requests=2 bytes=8192 ns=20");
	assert_int_equal(request_rows_from_notes(read, profile, &malformed), 0);
	expect_some_rows(read, 1);
	assert_int_equal(request_rows_from_notes(read, profile, &malformed), 0);
	expect_some_rows(read, 2);
	assert_int_equal(malformed, 0);
	profile_free(profile);
	request_rows_free(read);
	request_rows_free(rows);
}

static void test_request_rows__malformed_lines(void **state)
{
	static const char *const lines[] = {
		"stallprof.requests device=vda class=a op=write requests=1 bytes=2", /* no ns */
		"stallprof.requests device=vda class=a op=wrote requests=1 bytes=2 ns=3",
		"stallprof.requests device=vda class=a op=read writeback=2 requests=1 bytes=2 ns=3",
		"stallprof.requests class=a op=read requests=1 bytes=2 ns=3",
		"stallprof.requests device=vda op=read requests=1 bytes=2 ns=3",
		"stallprof.requests device=vda class=a op=read requests=-1 bytes=2 ns=3",
	};
	struct request_rows *rows = request_rows_new();
	struct profile *profile = new_profile();
	size_t malformed = 0, n = sizeof(lines) / sizeof(*lines), i;

	(void)state;
	for (i = 0; i < n; i++)
		assert_int_equal(profile_add_note(profile, lines[i]), 0);
	assert_int_equal(profile_add_note(profile, "stallprof.ledger of somebody else"), 0);
	assert_int_equal(profile_add_note(profile, "stallprof.requests device=vda class=a op=read requests=1 "
	                                           "bytes=2 ns=3 newer=1"),
	                 0);
	assert_int_equal(request_rows_from_notes(rows, profile, &malformed), 0);
	assert_int_equal(malformed, n);
	assert_int_equal(request_rows_count(rows), 1);
	expect(rows, 0, "vda", "a", REQUEST_READ, false, 1, 2, 3);
	profile_free(profile);
	request_rows_free(rows);
}

static void test_request_rows__bounds(void **state)
{
	struct request_rows *rows = request_rows_new();
	struct request_row row = { .op = REQUEST_OPS };
	char class[16];

	(void)state;
	assert_int_equal(request_rows_add(rows, &row), -EINVAL);
	row.op = REQUEST_READ;
	row.class = class;
	for (int i = 0; i < REQUEST_ROWS_MAX; i++) {
		snprintf(class, sizeof(class), "%d", i);
		assert_int_equal(request_rows_add(rows, &row), 0);
	}
	assert_int_equal(request_rows_add(rows, &row), 0); /* one that is there */
	row.class = "new";
	assert_int_equal(request_rows_add(rows, &row), -ENOSPC);
	assert_int_equal(request_rows_count(rows), REQUEST_ROWS_MAX);
	request_rows_free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_rows__sums_in_order),
		cmocka_unit_test(test_request_rows__through_notes),
		cmocka_unit_test(test_request_rows__malformed_lines),
		cmocka_unit_test(test_request_rows__bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
