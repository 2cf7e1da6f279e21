/* What gpu_jobs.h allocates: linked with failing_allocator.h, as the Makefile does for all test_NAME_memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/config/config.h"
#include "profiler/session/gpu_jobs.h"
#include "tests/unit/failing_allocator.h"

static const struct config_gpu_jobs limits;

/* A GPU may do ten thousand jobs a second: what is allocated is for each ring and class, not for each job. */
static void test_gpu_jobs__no_memory_for_each_job(void **state)
{
	const struct abi_gpu_job job = { .driver = "amdgpu", .ring = "gfx", .total_ns = 5 };
	struct gpu_jobs *jobs = gpu_jobs_new(&limits);
	unsigned long before;

	(void)state;
	assert_int_equal(gpu_jobs_add(jobs, "train", &job), 0);
	before = n_allocations;
	for (int i = 0; i < 100; i++)
		assert_int_equal(gpu_jobs_add(jobs, "train", &job), 0);
	assert_int_equal(n_allocations, before);
	assert_int_equal(gpu_jobs_add(jobs, "a class with a longer name than that", &job), 0);
	assert_true(n_allocations > before);
	gpu_jobs_free(jobs);
	assert_int_equal(n_live, 0);
}

static void test_gpu_jobs__each_allocation_fails(void **state)
{
	const struct abi_gpu_job job = { .driver = "amdgpu", .ring = "gfx", .total_ns = 5 };

	(void)state;
	for (unsigned long at = 1;; at++) {
		struct gpu_jobs *jobs;

		forget_all();
		n_allocations = 0;
		fails_at = at;
		has_failed = false;
		jobs = gpu_jobs_new(&limits);
		if (jobs) {
			int err = gpu_jobs_add(jobs, "train", &job);

			assert_int_equal(err, has_failed ? -ENOMEM : 0);
		}
		gpu_jobs_free(jobs);
		assert_int_equal(n_live, 0);
		if (!has_failed)
			break;
	}
	fails_at = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpu_jobs__no_memory_for_each_job),
		cmocka_unit_test(test_gpu_jobs__each_allocation_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
