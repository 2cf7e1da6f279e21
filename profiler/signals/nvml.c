/* Calls libnvidia-ml by its public functions. */

#include "profiler/signals/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOCK_SM 1

/* nvmlClocksThrottleReason…: software power cap, hardware slowdown, thermal slowdown of both kinds, power brake. */
#define REASONS (0x4ULL | 0x8ULL | 0x20ULL | 0x40ULL | 0x80ULL)

struct utilization {
	unsigned int gpu, memory;
};

struct nvml {
	void *library;
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned int *count);
	int (*handle)(unsigned int index, void **device);
	int (*name)(void *device, char *name, unsigned int length);
	int (*utilization)(void *device, struct utilization *utilization);
	int (*reasons)(void *device, unsigned long long *reasons);
	int (*clock)(void *device, unsigned int type, unsigned int *mhz);
	int (*highest_clock)(void *device, unsigned int type, unsigned int *mhz);
	int (*replays)(void *device, unsigned int *count);
	bool began; /* nvmlInit() has held the driver since */
	size_t gpus;
	struct {
		void *device;
		char name[NVML_NAME_BYTES + 16];
	} gpu[NVML_GPUS_MAX];
};

static void find_functions(struct nvml *nvml)
{
	const struct {
		const char *name;
		void *place;
	} functions[] = {
		{ "nvmlInit_v2", &nvml->init },
		{ "nvmlShutdown", &nvml->shutdown },
		{ "nvmlDeviceGetCount_v2", &nvml->count },
		{ "nvmlDeviceGetHandleByIndex_v2", &nvml->handle },
		{ "nvmlDeviceGetName", &nvml->name },
		{ "nvmlDeviceGetUtilizationRates", &nvml->utilization },
		{ "nvmlDeviceGetCurrentClocksThrottleReasons", &nvml->reasons },
		{ "nvmlDeviceGetClockInfo", &nvml->clock },
		{ "nvmlDeviceGetMaxClockInfo", &nvml->highest_clock },
		{ "nvmlDeviceGetPcieReplayCounter", &nvml->replays },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = dlsym(nvml->library, functions[i].name);

		memcpy(functions[i].place, &found, sizeof(found));
	}
}

static void find_gpus(struct nvml *nvml)
{
	unsigned int count = 0;

	if (nvml->count(&count))
		return;
	for (unsigned int i = 0; i < count && nvml->gpus < NVML_GPUS_MAX; i++) {
		char name[NVML_NAME_BYTES] = "";

		if (nvml->handle(i, &nvml->gpu[nvml->gpus].device))
			continue;
		if (nvml->name)
			nvml->name(nvml->gpu[nvml->gpus].device, name, sizeof(name));
		name[sizeof(name) - 1] = '\0';
		snprintf(nvml->gpu[nvml->gpus].name, sizeof(nvml->gpu[0].name), "gpu%u%s%s", i,
		         *name ? " " : "", name);
		nvml->gpus++;
	}
}

struct nvml *nvml_open(const char *library, char *why, size_t why_size)
{
	struct nvml *nvml = calloc(1, sizeof(*nvml));

	snprintf(why, why_size, "out of memory");
	if (!nvml)
		return NULL;
	nvml->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	snprintf(why, why_size, "there is no %s", library);
	if (nvml->library) {
		find_functions(nvml);
		snprintf(why, why_size, "%s lacks functions, or does not find its driver", library);
		if (nvml->init && nvml->count && nvml->handle && nvml->utilization && !nvml->init()) {
			nvml->began = true;
			find_gpus(nvml);
			snprintf(why, why_size, "%s finds no GPU", library);
		}
	}
	if (nvml->gpus)
		return nvml;
	nvml_close(nvml);
	return NULL;
}

void nvml_close(struct nvml *nvml)
{
	if (!nvml)
		return;
	if (nvml->began && nvml->shutdown)
		nvml->shutdown();
	if (nvml->library)
		dlclose(nvml->library);
	free(nvml);
}

size_t nvml_count(const struct nvml *nvml)
{
	return nvml->gpus;
}

const char *nvml_name(const struct nvml *nvml, size_t gpu)
{
	return nvml->gpu[gpu].name;
}

static bool read_clock(const struct nvml *nvml, void *device, struct nvml_state *state)
{
	unsigned int mhz, highest;

	if (!nvml->clock || !nvml->highest_clock || nvml->clock(device, CLOCK_SM, &mhz) ||
	    nvml->highest_clock(device, CLOCK_SM, &highest))
		return false;
	state->clock_lost_per_mille = mhz < highest ? (highest - mhz) * 1000 / highest : 0;
	return true;
}

unsigned int nvml_read(const struct nvml *nvml, size_t gpu, struct nvml_state *state)
{
	void *device = nvml->gpu[gpu].device;
	struct utilization utilization;
	unsigned long long reasons;
	unsigned int replays, told = 0;

	*state = (struct nvml_state){ .busy_percent = 0 };
	if (!nvml->utilization(device, &utilization)) {
		state->busy_percent = utilization.gpu;
		told |= NVML_BUSY;
	}
	if (nvml->reasons && !nvml->reasons(device, &reasons)) {
		state->throttled = reasons & REASONS;
		told |= NVML_THROTTLED;
	}
	if (read_clock(nvml, device, state))
		told |= NVML_CLOCK;
	if (nvml->replays && !nvml->replays(device, &replays)) {
		state->pcie_replays = replays;
		told |= NVML_REPLAYS;
	}
	return told;
}
