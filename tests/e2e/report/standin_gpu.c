/*
 * Stand-ins for libcuda.so.1 and libnvidia-ml.so.1, which need a GPU: it waits as long as it is told to, four times as long while the
 * file that STANDIN_SLOW names exists, and says then that it is throttled for heat and at half its clock.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SLOWER  4
#define THERMAL 0x20ull

struct utilization {
	unsigned int gpu, memory;
};

int cuStreamSynchronize(long ms);
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned int *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
int nvmlDeviceGetName(void *device, char *name, unsigned int length);
int nvmlDeviceGetUtilizationRates(void *device, struct utilization *utilization);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetClockInfo(void *device, unsigned int type, unsigned int *mhz);
int nvmlDeviceGetMaxClockInfo(void *device, unsigned int type, unsigned int *mhz);

static int is_slow(void)
{
	const char *file = getenv("STANDIN_SLOW");

	return file && !access(file, F_OK);
}

int cuStreamSynchronize(long ms)
{
	struct timespec left = { 0, ms * (is_slow() ? SLOWER : 1) * 1000000 };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
	return 0;
}

int nvmlInit_v2(void)
{
	return 0;
}

int nvmlShutdown(void)
{
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
	*count = 1;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
	static int only;

	*device = &only;
	return index != 0;
}

int nvmlDeviceGetName(void *device, char *name, unsigned int length)
{
	(void)device;
	snprintf(name, length, "Stand-in <b>");
	return 0;
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *utilization)
{
	(void)device;
	*utilization = (struct utilization){ .gpu = is_slow() ? 95 : 60, .memory = 10 };
	return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
	(void)device;
	*reasons = is_slow() ? THERMAL : 0;
	return 0;
}

int nvmlDeviceGetMaxClockInfo(void *device, unsigned int type, unsigned int *mhz)
{
	(void)device;
	(void)type;
	*mhz = 1980;
	return 0;
}

int nvmlDeviceGetClockInfo(void *device, unsigned int type, unsigned int *mhz)
{
	(void)device;
	(void)type;
	*mhz = is_slow() ? 990 : 1980;
	return 0;
}
