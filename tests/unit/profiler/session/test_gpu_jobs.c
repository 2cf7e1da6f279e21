/* Tests of gpu_jobs.h: what is summed, and which jobs took too long. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "profiler/config/config.h"
#include "profiler/format/gpu_job_rows.h"
#include "profiler/session/gpu_jobs.h"

#define US  1000ull
#define ALL (1u << ABI_GPU_SUBMIT | 1u << ABI_GPU_QUEUE | 1u << ABI_GPU_WAIT | 1u << ABI_GPU_RUN)

static const struct config_gpu_jobs limits = {
	.submit_percent = 30,
	.submit_ns = 200 * US,
	.queue_percent = 50,
	.queue_ns = 500 * US,
	.wait_percent = 40,
	.tail_percent = 150,
};

static struct abi_gpu_job job_of(uint64_t submit, uint64_t queue, uint64_t wait, uint64_t run)
{
	return (struct abi_gpu_job){ .kind = ABI_EVENT_GPU_JOB,
		                     .known = ALL,
		                     .ns = { submit, queue, wait, run },
		                     .total_ns = submit + queue + wait + run,
		                     .driver = "amdgpu",
		                     .ring = "gfx" };
}

static void add(struct gpu_jobs *jobs, const char *class, struct abi_gpu_job job)
{
	assert_int_equal(gpu_jobs_add(jobs, class, &job), 0);
}

static struct gpu_job_rows *rows_of(struct gpu_jobs *jobs)
{
	struct gpu_job_rows *rows = gpu_job_rows_new();

	assert_non_null(rows);
	assert_int_equal(gpu_jobs_take(jobs, rows), 0);
	gpu_jobs_free(jobs);
	return rows;
}

/* How many of such jobs, told alone, are slow in the phase. */
static uint64_t slow_in(enum gpu_job_phase phase, struct abi_gpu_job job)
{
	struct gpu_jobs *jobs = gpu_jobs_new(&limits);
	struct gpu_job_rows *rows;
	uint64_t slow;

	add(jobs, "train", job);
	rows = rows_of(jobs);
	assert_int_equal(gpu_job_rows_count(rows), 1);
	slow = gpu_job_rows_at(rows, 0)->phase[phase].slow;
	gpu_job_rows_free(rows);
	return slow;
}

static void test_gpu_jobs__slow_phases(void **state)
{
	struct abi_gpu_job untold = job_of(900 * US, 0, 0, 100 * US);

	(void)state;
	assert_int_equal(slow_in(GPU_JOB_SUBMIT, job_of(301 * US, 0, 0, 699 * US)), 1);
	assert_int_equal(slow_in(GPU_JOB_SUBMIT, job_of(300 * US, 0, 0, 700 * US)),
	                 0);                                                          /* not more than 30 % */
	assert_int_equal(slow_in(GPU_JOB_SUBMIT, job_of(200 * US, 0, 0, 1 * US)), 0); /* nor than 200 us */
	assert_int_equal(slow_in(GPU_JOB_QUEUE, job_of(0, 501 * US, 0, 500 * US)), 1);
	assert_int_equal(slow_in(GPU_JOB_QUEUE, job_of(0, 501 * US, 0, 501 * US)), 0);
	assert_int_equal(slow_in(GPU_JOB_QUEUE, job_of(0, 500 * US, 0, 1 * US)), 0);
	assert_int_equal(slow_in(GPU_JOB_WAIT, job_of(0, 0, 5, 7)), 1); /* however short */
	assert_int_equal(slow_in(GPU_JOB_WAIT, job_of(0, 0, 4, 6)), 0);
	assert_int_equal(slow_in(GPU_JOB_RUN, job_of(0, 0, 0, 1000000 * US)), 0);
	untold.known = 1u << ABI_GPU_RUN;
	assert_int_equal(slow_in(GPU_JOB_SUBMIT, untold), 0);
}

static void test_gpu_jobs__sums(void **state)
{
	struct gpu_jobs *jobs = gpu_jobs_new(&limits);
	struct abi_gpu_job other = job_of(1, 2, 3, 4), part = job_of(5, 6, 7, 8);
	const struct gpu_job_row *row;
	struct gpu_job_rows *rows;

	(void)state;
	add(jobs, "train", job_of(10, 20, 30, 40));
	part.known = 1u << ABI_GPU_SUBMIT;
	part.error = -110;
	add(jobs, "train", part);
	memset(other.ring, 'x', sizeof(other.ring)); /* without a NUL */
	add(jobs, "", other);
	rows = rows_of(jobs);
	assert_int_equal(gpu_job_rows_count(rows), 2);
	row = gpu_job_rows_at(rows, 0);
	assert_string_equal(row->driver, "amdgpu");
	assert_string_equal(row->ring, "gfx");
	assert_string_equal(row->class, "train");
	assert_int_equal(row->jobs, 2);
	assert_int_equal(row->total_ns, 126);
	assert_int_equal(row->faults, 1);
	assert_int_equal(row->phase[GPU_JOB_SUBMIT].jobs, 2);
	assert_int_equal(row->phase[GPU_JOB_SUBMIT].ns, 15);
	assert_int_equal(row->phase[GPU_JOB_RUN].jobs, 1);
	assert_int_equal(row->phase[GPU_JOB_RUN].ns, 40);
	row = gpu_job_rows_at(rows, 1);
	assert_int_equal(strlen(row->ring), ABI_GPU_NAME_LEN - 1);
	assert_string_equal(row->class, "");
	gpu_job_rows_free(rows);
}

/* Of a hundred jobs, in whatever order. */
static void test_gpu_jobs__long_tail(void **state)
{
	struct gpu_jobs *jobs = gpu_jobs_new(&limits);
	const struct gpu_job_row *row;
	struct gpu_job_rows *rows;

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		add(jobs, "train", job_of(0, 0, 0, 1700 * US));
	for (uint64_t i = 0; i < 90; i++)
		add(jobs, "train", job_of(0, 0, 0, (911 + i) * US)); /* up to 1000 */
	for (uint64_t i = 0; i < 6; i++)
		add(jobs, "train", job_of(0, 0, 0, 1400 * US));
	rows = rows_of(jobs);
	row = gpu_job_rows_at(rows, 0);
	assert_in_range(row->p90_ns, 1000 * US, 1000 * US * 17 / 16);
	assert_int_equal(row->long_tail, 4);
	gpu_job_rows_free(rows);
}

static void test_gpu_jobs__any_length(void **state)
{
	static const uint64_t ns[] = { 0, 1, 15, 16, 31, 32, 1000, 1ull << 40, UINT64_MAX };
	const struct gpu_job_row *row;
	struct gpu_job_rows *rows;

	(void)state;
	for (size_t i = 0; i < sizeof(ns) / sizeof(*ns); i++) {
		struct gpu_jobs *jobs = gpu_jobs_new(&limits);

		add(jobs, "train", job_of(0, 0, 0, ns[i]));
		rows = rows_of(jobs);
		row = gpu_job_rows_at(rows, 0);
		assert_true(row->p90_ns >= ns[i] && row->p90_ns - ns[i] <= ns[i] / 16);
		assert_int_equal(row->long_tail, 0);
		gpu_job_rows_free(rows);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpu_jobs__slow_phases),
		cmocka_unit_test(test_gpu_jobs__sums),
		cmocka_unit_test(test_gpu_jobs__long_tail),
		cmocka_unit_test(test_gpu_jobs__any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
