/*
 * CPU time that the host took from this virtual machine (steal), from /proc/stat: the scheduler knows nothing of it, so
 * that a tagged thread's share is in its run queue time, or counted as on the CPU.
 */
#ifndef STALLPROF_PROFILER_HOST_STEAL_H
#define STALLPROF_PROFILER_HOST_STEAL_H

#include <stdint.h>

struct stamp;

#define HOST_STAT "/proc/stat"

/* Of all CPUs since boot, in steps of a clock tick; 0 where it is not told. `path`: HOST_STAT but in tests. */
uint64_t host_steal_ns(const char *path);

/* The counter steal_ns: what came since *last_ns, which is then now. 0 or as stamp_add_counter(). */
int host_steal_describe(uint64_t *last_ns, struct stamp *stamp);

#endif
