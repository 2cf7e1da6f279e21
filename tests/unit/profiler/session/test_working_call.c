/* Tests of working_call.h: calls of libraries that wait, and those that work. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "pprof/profile.h"
#include "profiler/session/working_call.h"
#include "profiler/tracer/library_calls.h"

static void test_working_call__kinds(void **state)
{
	static const struct {
		const char *function;
		enum library_call kind;
	} cases[] = {
		{ "cuStreamSynchronize", LIBRARY_CALL_WAITS },
		{ "cuMemcpyDtoH_v2", LIBRARY_CALL_WAITS },
		{ "cudaMemcpyAsync_ptsz", LIBRARY_CALL_WAITS },
		{ "hipDeviceSynchronize", LIBRARY_CALL_WAITS },
		{ "clFinish", LIBRARY_CALL_WAITS },
		{ "vkWaitForFences", LIBRARY_CALL_WAITS },
		{ "MPI_Allreduce", LIBRARY_CALL_WAITS },
		{ "PMPI_Barrier", LIBRARY_CALL_WAITS },
		{ "cuMemcpyHtoDAsync_v2", LIBRARY_CALL_WORKS },
		{ "cuModuleLoadDataEx", LIBRARY_CALL_WORKS },
		{ "cudaMallocHost", LIBRARY_CALL_WORKS },
		{ "cudaHostRegister", LIBRARY_CALL_WORKS },
		{ "cuMemHostAlloc", LIBRARY_CALL_WORKS },
		{ "ncclGroupEnd", LIBRARY_CALL_WORKS },
		{ "MPI_Init", LIBRARY_CALL_WORKS },
		{ "PMPI_Init_thread", LIBRARY_CALL_WORKS },
		{ "clEnqueueWriteBuffer", LIBRARY_CALL_WORKS },
		{ "cuLaunchKernel", LIBRARY_CALL_NONE },
		{ "cublasSgemm_v2", LIBRARY_CALL_NONE },
		{ "main", LIBRARY_CALL_NONE },
		{ "zeCommandQueueSynchronize", LIBRARY_CALL_WAITS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (library_calls_kind(cases[i].function) != cases[i].kind)
			fail_msg("%s: %d", cases[i].function, library_calls_kind(cases[i].function));
}

/* Leaf first. */
static bool works(const char *const *functions, size_t n)
{
	const struct profile_value_type cpu = { "cpu", "nanoseconds" };
	struct profile *profile = profile_new(&cpu, 1, cpu, 0, 1 << 20);
	int64_t ids[4];
	bool result;

	for (size_t i = 0; i < n; i++) {
		const struct profile_frame frame = { .function = functions[i] };

		ids[i] = profile_location(profile, 0, 0, &frame, 1);
		assert_true(ids[i] > 0);
	}
	result = working_call(profile, ids, n);
	profile_free(profile);
	return result;
}

static void test_working_call__the_innermost_tells(void **state)
{
	static const char *const copies[] = { "memcpy", "cuMemcpyHtoD_v2", "cudaMemcpy", "main" };
	static const char *const waits[] = { "poll", "cuStreamSynchronize", "cuModuleUnload", "main" };
	static const char *const unknown[] = { "[unwind truncated]" };

	(void)state;
	assert_true(works(copies, 4));
	assert_false(works(waits, 4));
	assert_false(works(unknown, 1));
	assert_false(works(unknown, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_working_call__kinds),
		cmocka_unit_test(test_working_call__the_innermost_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
