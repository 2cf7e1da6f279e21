/*
 * What is known of a file without waiting for its file system: a path is followed as far as the kernel has it in memory,
 * as it has that of a file which somebody has just mapped. No server is asked, and nothing is mounted by a look.
 */
#ifndef STALLPROF_PROFILER_CACHED_STAT_H
#define STALLPROF_PROFILER_CACHED_STAT_H

#include <stdint.h>

struct statx;

/* An absolute path as the process sees it; `pid` 0: as we do. 0 or -errno; -EAGAIN: not without waiting. */
int cached_stat(uint32_t pid, const char *path, struct statx *out);

#endif
