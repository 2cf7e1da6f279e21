/*
 * CPU time that the host took from this virtual machine (steal), from /proc/stat: the scheduler does not know of
 * it, so a tagged thread's share is counted as run queue time or as on the CPU.
 */
#ifndef STALLPROF_PROFILER_HOST_STEAL_H
#define STALLPROF_PROFILER_HOST_STEAL_H

#include <stdint.h>

struct stamp;
struct stamp_growth;

#define HOST_STAT "/proc/stat"

/* Steal of all CPUs since boot, in steps of a clock tick; 0 where the kernel does not report it. `path`: HOST_STAT
 * but in tests. */
uint64_t host_steal_ns(const char *path);

/* Adds the counter steal_ns: by how much the steal has grown. As stamp_add_growth(). */
int host_steal_describe(struct stamp_growth *growth, struct stamp *stamp);

#endif
