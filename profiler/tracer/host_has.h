/* What the host has now: modules and file systems. */
#ifndef STALLPROF_PROFILER_HOST_HAS_H
#define STALLPROF_PROFILER_HOST_HAS_H

#include <stdbool.h>

/* Whether the module is loaded, or built into the kernel. */
bool host_has_module(const char *module);

/* Whether a file system of that type is mounted; true if that cannot be known. */
bool host_has_mounted(const char *filesystem);

#endif
