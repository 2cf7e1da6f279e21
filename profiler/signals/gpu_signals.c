/* Reads each GPU's state, and makes lanes of it. */

#include "profiler/signals/gpu_signals.h"

#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/signals/signal_files.h"
#include "symbolizer/base/clock.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"

bool gpu_signals_open(struct gpu_signals *gpus, char *why, size_t why_size)
{
	*gpus = (struct gpu_signals){ .nvml = nvml_open(NVML_LIBRARY, why, why_size) };
	return gpus->nvml;
}

void gpu_signals_close(struct gpu_signals *gpus)
{
	nvml_close(gpus->nvml);
	gpus->nvml = NULL;
}

void gpu_signals_read(struct gpu_signals *gpus)
{
	for (size_t i = 0; i < nvml_count(gpus->nvml); i++) {
		gpus->gpu[i].told = nvml_read(gpus->nvml, i, &gpus->gpu[i].state);
		gpus->gpu[i].read_ns = unix_ns();
	}
}

struct telling {
	struct timeline *timeline;
	const char *gpu;
	uint64_t read_ns, passed_ns;
};

static void tell(const struct telling *telling, const char *name, int64_t amount)
{
	const struct timeline_lane lane = { .kind = TIMELINE_SIGNAL,
		                            .name = name,
		                            .device = telling->gpu,
		                            .bucket_ns = GPU_SIGNALS_TICK_NS };

	if (amount)
		timeline_add(telling->timeline, &lane, telling->read_ns - telling->passed_ns,
		             telling->read_ns, amount);
}

static void tell_gpu(struct gpu_signals *gpus, size_t i, uint64_t passed_ns, struct timeline *timeline)
{
	const struct nvml_state *state = &gpus->gpu[i].state;
	const struct telling telling = { .timeline = timeline,
		                         .gpu = nvml_name(gpus->nvml, i),
		                         .read_ns = gpus->gpu[i].read_ns,
		                         .passed_ns = passed_ns };
	int64_t us = (int64_t)(passed_ns / 1000);

	tell(&telling, "gpu_busy", us * state->busy_percent / 100);
	tell(&telling, "gpu_throttled", state->throttled ? us : 0);
	tell(&telling, "gpu_clock_lost", us * state->clock_lost_per_mille / 1000);
	if (!(gpus->gpu[i].told & NVML_REPLAYS))
		return;
	if (gpus->gpu[i].has_replays && state->pcie_replays > gpus->gpu[i].replays)
		tell(&telling, "pcie_replays", (int64_t)(state->pcie_replays - gpus->gpu[i].replays));
	gpus->gpu[i].replays = state->pcie_replays;
	gpus->gpu[i].has_replays = true;
}

unsigned int gpu_signals_tell(struct gpu_signals *gpus, uint64_t passed_ns, struct timeline *timeline)
{
	unsigned int told = 0;

	for (size_t i = 0; i < nvml_count(gpus->nvml); i++) {
		tell_gpu(gpus, i, passed_ns, timeline);
		told |= gpus->gpu[i].told;
	}
	return told;
}

int gpu_signals_describe(const char *no_gpus, unsigned int told, struct stamp *stamp)
{
	static const struct {
		const char *name;
		enum nvml_value value;
	} signals[] = {
		{ "gpu_busy", NVML_BUSY },
		{ "gpu_throttled", NVML_THROTTLED },
		{ "gpu_clock_lost", NVML_CLOCK },
		{ "pcie_replays", NVML_REPLAYS },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]) && !err; i++) {
		const char *why = *no_gpus || told & signals[i].value ? no_gpus : "no GPU tells it";

		err = stamp_add_hook(stamp, HOST_SIGNALS_CAUSE, signals[i].name,
		                     *why ? HOOK_UNUSED : HOOK_ATTACHED, why);
	}
	return err;
}
