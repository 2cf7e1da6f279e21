/*
 * NVIDIA's management library, loaded if it is there: how busy GPUs are, and what slows them. Its calls may take long, or hang
 * when a GPU fails, so they belong into a thread of their own.
 */
#ifndef STALLPROF_PROFILER_NVML_H
#define STALLPROF_PROFILER_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVML_GPUS_MAX   16
#define NVML_NAME_BYTES 64

struct nvml;

struct nvml_state {
	unsigned int busy_percent;
	bool throttled; /* for heat or power */
	unsigned int clock_lost_per_mille;
	uint64_t pcie_replays; /* since the driver was loaded */
};

/* NULL with a reason in `why`. */
struct nvml *nvml_open(const char *library, char *why, size_t why_size);
void nvml_close(struct nvml *nvml);

size_t nvml_count(const struct nvml *nvml);
/* "gpu0 NVIDIA H100 80GB HBM3" */
const char *nvml_name(const struct nvml *nvml, size_t gpu);
/* What cannot be had is 0. False: the GPU says nothing. */
bool nvml_read(const struct nvml *nvml, size_t gpu, struct nvml_state *state);

#endif
