/*
 * What NVML says of GPUs, as signals of the host (host_signals.h, which names the lanes). Reading may take long, or hang when a GPU fails;
 * telling does not.
 *
 *     gpu_signals_open(&gpus, why, sizeof(why))
 *     gpu_signals_read(&gpus)                             again and again
 *     gpu_signals_tell(&gpus, passed_ns, timeline)        … and then
 *     gpu_signals_close(&gpus)                            a GPU cannot be reset, nor its driver unloaded, before
 */
#ifndef STALLPROF_PROFILER_GPU_SIGNALS_H
#define STALLPROF_PROFILER_GPU_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/signals/nvml.h"

struct stamp;
struct timeline;

#define GPU_SIGNALS_TICK_NS 200000000ULL /* the width of a lane's buckets */

struct gpu_signals {
	struct nvml *nvml;
	struct {
		struct nvml_state state;
		unsigned int told; /* of enum nvml_value */
		uint64_t read_ns;  /* Unix time */
		uint64_t replays;  /* told so far */
		bool has_replays;
	} gpu[NVML_GPUS_MAX];
};

/* False with a reason in `why`: there are none, and nothing is open. */
bool gpu_signals_open(struct gpu_signals *gpus, char *why, size_t why_size);
void gpu_signals_close(struct gpu_signals *gpus);

void gpu_signals_read(struct gpu_signals *gpus);

/* Adds what was read last, of the `passed_ns` before. Returns which values any GPU told, of enum nvml_value. */
unsigned int gpu_signals_tell(struct gpu_signals *gpus, uint64_t passed_ns, struct timeline *timeline);

/* Adds a hook for each signal: attached, or unused with the reason. `no_gpus`: why there are none; "": there are. `told`: what any of them
 * told so far; all before they were asked. 0, -ENOMEM, -ENOSPC. */
int gpu_signals_describe(const char *no_gpus, unsigned int told, struct stamp *stamp);

#endif
