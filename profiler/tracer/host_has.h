/* What the host has now: modules and file systems. */
#ifndef STALLPROF_PROFILER_HOST_HAS_H
#define STALLPROF_PROFILER_HOST_HAS_H

#include <stdbool.h>

/* Whether the module is loaded, or built into the kernel. */
bool host_has_module(const char *module);

#define HOST_SYS "/sys"

/* Whether the module is loaded, and no part of the kernel itself. `sys`: HOST_SYS, or a folder like it. */
bool host_loaded_module(const char *sys, const char *module);

/* Whether the kernel has no types of a module that is loaded: it was built without BTF, or with that of another kernel. */
bool host_module_lacks_types(const char *sys, const char *module);

/* Whether a file system of that type is mounted; true if that cannot be known. */
bool host_has_mounted(const char *filesystem);

#endif
