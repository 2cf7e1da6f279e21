/* Tests of gpu_job_rows.h: sums, order, and the way through a profile's notes. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "pprof/profile.h"
#include "profiler/format/gpu_job_rows.h"

static struct profile *new_profile(void)
{
	static const struct profile_value_type type = { "delay", "nanoseconds" };
	struct profile *profile = profile_new(&type, 1, type, 1, 1 << 24);

	assert_non_null(profile);
	return profile;
}

static const struct gpu_job_row amdgpu = {
	.driver = "amdgpu",
	.ring = "gfx_0.0.0",
	.class = "train",
	.jobs = 3,
	.total_ns = 90,
	.p90_ns = 40,
	.long_tail = 1,
	.faults = 2,
	.phase = { { 3, 10, 1 }, { 3, 20, 2 }, { 3, 0, 0 }, { 3, 60, 0 } },
};
static const struct gpu_job_row i915 = { .driver = "i915",
	                                 .ring = "rcs 0",
	                                 .class = "train",
	                                 .jobs = 1,
	                                 .total_ns = 7,
	                                 .p90_ns = 7,
	                                 .phase = { [GPU_JOB_SUBMIT] = { 1, 2, 0 } } };
static const struct gpu_job_row nobodys = { .driver = "amdgpu", .ring = "sdma0", .jobs = 5, .total_ns = 50 };

static struct gpu_job_rows *some_rows(void)
{
	struct gpu_job_rows *rows = gpu_job_rows_new();

	assert_non_null(rows);
	assert_int_equal(gpu_job_rows_add(rows, &i915), 0);
	assert_int_equal(gpu_job_rows_add(rows, &nobodys), 0);
	assert_int_equal(gpu_job_rows_add(rows, &amdgpu), 0);
	return rows;
}

static void expect(const struct gpu_job_rows *rows, size_t at, const struct gpu_job_row *wanted,
                   uint64_t times)
{
	const struct gpu_job_row *row = gpu_job_rows_at(rows, at);

	assert_non_null(row);
	assert_string_equal(row->driver, wanted->driver);
	assert_string_equal(row->ring, wanted->ring);
	assert_string_equal(row->class, wanted->class ? wanted->class : "");
	assert_int_equal(row->jobs, wanted->jobs * times);
	assert_int_equal(row->total_ns, wanted->total_ns * times);
	assert_int_equal(row->p90_ns, wanted->p90_ns);
	assert_int_equal(row->long_tail, wanted->long_tail * times);
	assert_int_equal(row->faults, wanted->faults * times);
	for (int i = 0; i < GPU_JOB_PHASES; i++) {
		assert_int_equal(row->phase[i].jobs, wanted->phase[i].jobs * times);
		assert_int_equal(row->phase[i].ns, wanted->phase[i].ns * times);
		assert_int_equal(row->phase[i].slow, wanted->phase[i].slow * times);
	}
}

static void expect_some_rows(const struct gpu_job_rows *rows, uint64_t times)
{
	assert_int_equal(gpu_job_rows_count(rows), 3);
	expect(rows, 0, &amdgpu, times);
	expect(rows, 1, &nobodys, times);
	expect(rows, 2, &i915, times);
	assert_null(gpu_job_rows_at(rows, 3));
}

static void test_gpu_job_rows__sums_in_order(void **state)
{
	struct gpu_job_rows *rows = some_rows();
	struct gpu_job_row more = i915;

	(void)state;
	expect_some_rows(rows, 1);
	more.jobs = more.phase[GPU_JOB_SUBMIT].ns = UINT64_MAX;
	more.p90_ns = 6; /* the largest stays */
	assert_int_equal(gpu_job_rows_add(rows, &more), 0);
	assert_int_equal(gpu_job_rows_at(rows, 2)->jobs, UINT64_MAX);
	assert_int_equal(gpu_job_rows_at(rows, 2)->phase[GPU_JOB_SUBMIT].ns, UINT64_MAX);
	assert_int_equal(gpu_job_rows_at(rows, 2)->p90_ns, 7);
	gpu_job_rows_free(rows);
}

static void test_gpu_job_rows__through_notes(void **state)
{
	struct gpu_job_rows *rows = some_rows(), *read = gpu_job_rows_new();
	struct profile *profile = new_profile();
	size_t malformed = 0;

	(void)state;
	assert_int_equal(gpu_job_rows_to_notes(rows, profile), 0);
	assert_string_equal(profile_note(profile, 2),
	                    "stallprof.gpu_jobs driver=i915 ring=\"rcs 0\" class=train jobs=1 total_ns=7 "
	                    "p90_ns=7 long_tail=0 faults=0 submit_jobs=1 submit_ns=2 submit_slow=0");
	assert_int_equal(gpu_job_rows_from_notes(read, profile, &malformed), 0);
	expect_some_rows(read, 1);
	assert_int_equal(gpu_job_rows_from_notes(read, profile, &malformed), 0);
	expect_some_rows(read, 2);
	assert_int_equal(malformed, 0);
	profile_free(profile);
	gpu_job_rows_free(read);
	gpu_job_rows_free(rows);
}

#define BEGIN "stallprof.gpu_jobs driver=i915 ring=rcs0 class=a jobs=1 total_ns=7 p90_ns=7 long_tail=0"

static void test_gpu_job_rows__malformed_lines(void **state)
{
	static const char *const lines[] = {
		BEGIN, /* no faults */
		BEGIN " faults=-1",
		BEGIN " faults=0 submit_jobs=1 submit_ns=2",
		BEGIN " faults=0 submit_jobs=0 submit_ns=2 submit_slow=0",
		BEGIN " faults=0 run_jobs=x run_ns=2 run_slow=0",
		"stallprof.gpu_jobs driver=i915 class=a jobs=1 total_ns=7 p90_ns=7 long_tail=0 faults=0",
	};
	struct gpu_job_rows *rows = gpu_job_rows_new();
	struct profile *profile = new_profile();
	size_t malformed = 0, n = sizeof(lines) / sizeof(*lines), i;

	(void)state;
	for (i = 0; i < n; i++)
		assert_int_equal(profile_add_note(profile, lines[i]), 0);
	assert_int_equal(profile_add_note(profile, "stallprof.requests of somebody else"), 0);
	assert_int_equal(profile_add_note(profile, BEGIN " faults=3 newer=1"), 0);
	assert_int_equal(gpu_job_rows_from_notes(rows, profile, &malformed), 0);
	assert_int_equal(malformed, n);
	assert_int_equal(gpu_job_rows_count(rows), 1);
	assert_int_equal(gpu_job_rows_at(rows, 0)->faults, 3);
	profile_free(profile);
	gpu_job_rows_free(rows);
}

static void test_gpu_job_rows__bounds(void **state)
{
	struct gpu_job_rows *rows = gpu_job_rows_new();
	struct gpu_job_row row = { .jobs = 1 };
	char class[16];

	(void)state;
	row.class = class;
	for (int i = 0; i < GPU_JOB_ROWS_MAX; i++) {
		snprintf(class, sizeof(class), "%d", i);
		assert_int_equal(gpu_job_rows_add(rows, &row), 0);
	}
	assert_int_equal(gpu_job_rows_add(rows, &row), 0); /* one that is there */
	row.class = "new";
	assert_int_equal(gpu_job_rows_add(rows, &row), -ENOSPC);
	assert_int_equal(gpu_job_rows_count(rows), GPU_JOB_ROWS_MAX);
	gpu_job_rows_free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpu_job_rows__sums_in_order),
		cmocka_unit_test(test_gpu_job_rows__through_notes),
		cmocka_unit_test(test_gpu_job_rows__malformed_lines),
		cmocka_unit_test(test_gpu_job_rows__bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
