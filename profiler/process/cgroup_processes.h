/* The processes of a cgroup. */
#ifndef STALLPROF_PROFILER_CGROUP_PROCESSES_H
#define STALLPROF_PROFILER_CGROUP_PROCESSES_H

#include <sys/types.h>

/* Calls `found` for each process in the cgroup v2 whose folder is `path`, and in those below it; those of other PID namespaces are left
 * out, and so is what is removed meanwhile. */
void cgroup_processes(const char *path, void (*found)(void *ctx, pid_t pid), void *ctx);

#endif
