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

/* What a GPU may tell, as bits. */
enum nvml_value {
	NVML_BUSY = 1,
	NVML_THROTTLED = 2,
	NVML_CLOCK = 4,
	NVML_REPLAYS = 8,
};

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
/* Returns what was told, of enum nvml_value; all else is 0, as what is busy in MIG mode. */
unsigned int nvml_read(const struct nvml *nvml, size_t gpu, struct nvml_state *state);

#endif
