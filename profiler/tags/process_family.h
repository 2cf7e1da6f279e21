/* The processes that come from one, as /proc has them now. */
#ifndef STALLPROF_PROFILER_PROCESS_FAMILY_H
#define STALLPROF_PROFILER_PROCESS_FAMILY_H

#include <stdint.h>

/*
 * Calls `child` for each process that comes from `pid`, parents before their children. One whose parent has ended is the
 * child of who adopted it, and of no other. 0; -ENOMEM; -errno: /proc could not be read.
 */
int process_family(uint32_t pid, void (*child)(void *ctx, uint32_t pid, uint32_t parent), void *ctx);

#endif
