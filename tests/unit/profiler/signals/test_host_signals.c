/* Tests of host_signals.h and gpu_signals.h: when NVML is open, and what it tells, with a library in its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/signals/gpu_signals.h"
#include "profiler/signals/host_signals.h"
#include "symbolizer/base/clock.h"
#include "tests/unit/compile_program.h"

#define SOON_NS 10000000000ULL

static const char source[] =
        "#include <string.h>\n"
        "int fails, gpus = 1, inits, shutdowns, reads, mig, replays = -1;\n"
        "int nvmlInit_v2(void) { __atomic_fetch_add(&inits, 1, __ATOMIC_SEQ_CST); return fails; }\n"
        "int nvmlShutdown(void) { __atomic_fetch_add(&shutdowns, 1, __ATOMIC_SEQ_CST); return 0; }\n"
        "int nvmlDeviceGetCount_v2(unsigned int *n) { *n = gpus; return 0; }\n"
        "int nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **device) { *device = &gpus; return 0; }\n"
        "int nvmlDeviceGetUtilizationRates(void *device, unsigned int *of) {\n"
        "	of[0] = 50; of[1] = 0; __atomic_fetch_add(&reads, 1, __ATOMIC_SEQ_CST); return mig ? 3 : 0; "
        "}\n"
        "int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons) {\n"
        "	*reasons = 0x20; return 0; }\n"
        "int nvmlDeviceGetPcieReplayCounter(void *device, unsigned int *n) { *n = replays; return replays < "
        "0; }\n";

static struct {
	void *library;
	int *fails, *gpus, *inits, *shutdowns, *reads, *mig, *replays;
} nvml;

static int *variable(const char *name)
{
	return dlsym(nvml.library, name);
}

/* It is found by its name from now on, as it is loaded already. */
static int load_library(void **state)
{
	char path[128];

	if (program_dir_make_with(state, "nvml.c", source) ||
	    !compile_into("-shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -o %s/nvml.so %s/nvml.c", program_dir,
	                  program_dir))
		return -1;
	snprintf(path, sizeof(path), "%s/nvml.so", program_dir);
	nvml.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!nvml.library)
		return -1;
	nvml.fails = variable("fails");
	nvml.gpus = variable("gpus");
	nvml.inits = variable("inits");
	nvml.shutdowns = variable("shutdowns");
	nvml.reads = variable("reads");
	nvml.mig = variable("mig");
	nvml.replays = variable("replays");
	return 0;
}

/* Whether it grows to that, and no further for a while. */
static bool comes_to(const int *n, int wanted)
{
	uint64_t until = monotonic_ns() + SOON_NS;

	while (__atomic_load_n(n, __ATOMIC_SEQ_CST) < wanted && monotonic_ns() < until)
		usleep(1000);
	usleep(50000);
	return __atomic_load_n(n, __ATOMIC_SEQ_CST) == wanted;
}

static bool is_read(void)
{
	int before = __atomic_load_n(nvml.reads, __ATOMIC_SEQ_CST);
	uint64_t until = monotonic_ns() + SOON_NS;

	while (__atomic_load_n(nvml.reads, __ATOMIC_SEQ_CST) == before && monotonic_ns() < until)
		usleep(1000);
	return __atomic_load_n(nvml.reads, __ATOMIC_SEQ_CST) > before;
}

static enum hook_state state_of(struct host_signals *signals, const char *signal)
{
	struct stamp *stamp = stamp_new();
	enum hook_state told = HOOK_MISSING;

	assert_int_equal(host_signals_describe(signals, stamp), 0);
	for (size_t i = 0; i < stamp_hook_count(stamp); i++)
		if (!strcmp(stamp_hook_at(stamp, i).hook, signal))
			told = stamp_hook_at(stamp, i).state;
	stamp_free(stamp);
	return told;
}

static enum hook_state gpus_told(struct host_signals *signals)
{
	return state_of(signals, "gpu_busy");
}

/* What fails is tried again the next time that something is tagged. */
static void test_host_signals__nvml_is_open_while_it_is_read(void **state)
{
	struct host_signals *signals = host_signals_new();

	(void)state;
	assert_non_null(signals);
	*nvml.fails = 1;
	host_signals_run(signals, true);
	assert_true(comes_to(nvml.inits, 1));
	assert_int_equal(gpus_told(signals), HOOK_UNUSED);
	host_signals_run(signals, false);
	assert_true(comes_to(nvml.inits, 1));
	*nvml.fails = 0;
	for (int times = 1; times <= 2; times++) {
		host_signals_run(signals, true);
		assert_true(comes_to(nvml.inits, 1 + times));
		assert_true(is_read());
		assert_int_equal(gpus_told(signals), HOOK_ATTACHED);
		assert_int_equal(*nvml.shutdowns, times - 1);
		host_signals_run(signals, false);
		assert_true(comes_to(nvml.shutdowns, times));
		assert_int_equal(gpus_told(signals), HOOK_ATTACHED);
	}
	host_signals_run(signals, true);
	assert_true(is_read());
	host_signals_free(signals);
	assert_int_equal(*nvml.shutdowns, *nvml.inits - 1);
}

static void test_host_signals__nvml_without_a_gpu_is_closed_at_once(void **state)
{
	struct host_signals *signals = host_signals_new();
	int before = *nvml.shutdowns;

	(void)state;
	assert_non_null(signals);
	*nvml.gpus = 0;
	host_signals_run(signals, true);
	assert_true(comes_to(nvml.shutdowns, before + 1));
	assert_int_equal(gpus_told(signals), HOOK_UNUSED);
	host_signals_free(signals);
	host_signals_free(NULL);
	assert_int_equal(*nvml.shutdowns, before + 1);
}

static int64_t sum_of(const struct timeline *timeline, const char *name)
{
	int64_t sum = 0;

	for (size_t i = 0; i < timeline_count(timeline); i++) {
		size_t count;
		const struct timeline_point *points = timeline_points(timeline, i, &count);

		for (size_t p = 0; !strcmp(timeline_lane_at(timeline, i)->name, name) && p < count; p++)
			sum += points[p].value;
	}
	return sum;
}

/* What one call does not tell, as in MIG mode, the others do; and a counter that was not told for a while has grown by what it has since. */
static void test_host_signals__a_value_that_a_gpu_does_not_tell(void **state)
{
	static const int replays[] = { 5, -1, 7 };
	struct timeline *timeline = timeline_new(0);
	struct gpu_signals gpus;
	char why[256];

	(void)state;
	*nvml.gpus = 1;
	*nvml.mig = 1;
	assert_true(gpu_signals_open(&gpus, why, sizeof(why)));
	for (size_t i = 0; i < sizeof(replays) / sizeof(replays[0]); i++) {
		*nvml.replays = replays[i];
		gpu_signals_read(&gpus);
		assert_int_equal(gpu_signals_tell(&gpus, 200000000, timeline),
		                 NVML_THROTTLED | (replays[i] < 0 ? 0 : NVML_REPLAYS));
	}
	gpu_signals_close(&gpus);
	assert_int_equal(sum_of(timeline, "gpu_busy"), 0);
	assert_int_equal(sum_of(timeline, "gpu_throttled"), 600000);
	assert_int_equal(sum_of(timeline, "pcie_replays"), 2);
	timeline_free(timeline);
	*nvml.replays = -1;
}

/* The report says why there is nothing of it, instead of that nothing was found. */
static void test_host_signals__what_no_gpu_tells_is_not_looked_for(void **state)
{
	struct host_signals *signals = host_signals_new();
	uint64_t until = monotonic_ns() + SOON_NS;

	(void)state;
	assert_non_null(signals);
	*nvml.mig = 1;
	host_signals_run(signals, true);
	/* In that order: both are looked for as soon as the library is open, until it is read. */
	while ((state_of(signals, "gpu_throttled") == HOOK_UNUSED || gpus_told(signals) == HOOK_ATTACHED) &&
	       monotonic_ns() < until)
		usleep(1000);
	assert_int_equal(gpus_told(signals), HOOK_UNUSED);
	assert_int_equal(state_of(signals, "gpu_throttled"), HOOK_ATTACHED);
	assert_int_equal(state_of(signals, "pcie_replays"), HOOK_UNUSED);
	host_signals_free(signals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host_signals__nvml_is_open_while_it_is_read),
		cmocka_unit_test(test_host_signals__nvml_without_a_gpu_is_closed_at_once),
		cmocka_unit_test(test_host_signals__a_value_that_a_gpu_does_not_tell),
		cmocka_unit_test(test_host_signals__what_no_gpu_tells_is_not_looked_for),
	};

	return cmocka_run_group_tests(tests, load_library, program_dir_remove);
}
