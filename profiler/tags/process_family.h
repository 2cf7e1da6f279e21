/* The descendants of a process, as /proc has them now. */
#ifndef STALLPROF_PROFILER_PROCESS_FAMILY_H
#define STALLPROF_PROFILER_PROCESS_FAMILY_H

#include <stdint.h>

/*
 * Calls `child` for each descendant of `pid`, parents before their children. A process whose parent has ended
 * counts as the child of the process that adopted it, and of no other. 0; -ENOMEM; -errno: /proc could not be read.
 */
int process_family(uint32_t pid, void (*child)(void *ctx, uint32_t pid, uint32_t parent), void *ctx);

#endif
