/*
 * CPU time that the host took from this virtual machine (steal), from /proc/stat: the scheduler does not know of
 * it, so a tagged thread's share is counted as run queue time or as on the CPU.
 */
#ifndef STALLPROF_PROFILER_HOST_STEAL_H
#define STALLPROF_PROFILER_HOST_STEAL_H

#include <stdint.h>

struct stamp;

#define HOST_STAT "/proc/stat"

/* Steal of all CPUs since boot, in steps of a clock tick; 0 where the kernel does not report it. `path`: HOST_STAT
 * but in tests. */
uint64_t host_steal_ns(const char *path);

/* Adds the counter steal_ns: the steal since *last_ns, which is set to the present value. 0 or as
 * stamp_add_counter(). */
int host_steal_describe(uint64_t *last_ns, struct stamp *stamp);

#endif
