/*
 * Follows a path as far as the kernel has it in memory, as it has that of a file which somebody has just mapped: no
 * server is asked, and nothing is mounted by a look.
 */
#ifndef SYMBOLIZER_CACHED_PATH_H
#define SYMBOLIZER_CACHED_PATH_H

#include <stdint.h>

/* Opens it with O_PATH, the caller's to close. `root`: PROC/PID/root, below which the path stays; "": our own. -EAGAIN: not
 * without waiting; -errno. Needs openat2() of Linux 5.12. */
int cached_path_open(const char *root, const char *path);

/* The file system (its number, as stat() tells it) that the path leads to, as far as it is in memory. 0 or -errno. */
int cached_path_device(const char *root, const char *path, uint64_t *dev);

/* The same of what is open, or of what a link of /proc leads to: as statx() has it. */
int cached_path_device_at(int fd, const char *path, uint64_t *dev);

#endif
