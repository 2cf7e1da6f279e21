/* Reads stolen CPU time from /proc/stat. */

#include "profiler/tracer/host_steal.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "profiler/format/stamp.h"

uint64_t host_steal_ns(const char *path)
{
	long hz = sysconf(_SC_CLK_TCK);
	FILE *file = fopen(path, "re");
	uint64_t ticks = 0;

	if (!file)
		return 0;
	/* cpu user nice system idle iowait irq softirq steal ... */
	if (fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &ticks) != 1)
		ticks = 0;
	fclose(file);
	return hz > 0 ? ticks * (1000000000u / (uint64_t)hz) : 0;
}

int host_steal_describe(struct stamp_growth *growth, struct stamp *stamp)
{
	return stamp_add_growth(stamp, "steal_ns", growth, host_steal_ns(HOST_STAT));
}
