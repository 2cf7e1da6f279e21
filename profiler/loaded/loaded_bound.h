/* How much memory loaded profiles may take, and what is said where that is too little. */
#ifndef STALLPROF_PROFILER_LOADED_BOUND_H
#define STALLPROF_PROFILER_LOADED_BOUND_H

#include <stddef.h>

#define LOADED_BYTES_LEAST (4ul << 30)

/* A quarter of the machine's memory, as two sums may be compared, or LOADED_BYTES_LEAST if that is more; a quarter of a lower limit on our cgroup, or on one above it (v2).
 * `root`: "" but in tests, a folder in which /proc and /sys are looked for. */
size_t loaded_bytes_max(const char *root);

/* strerror(error) of a function that gives -ENOSPC at a bound on memory: no disk is full then. */
const char *loaded_reason(int error);

#endif
