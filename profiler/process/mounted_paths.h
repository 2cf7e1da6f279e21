/*
 * Paths of files that are known by their file system and their place in it: where a process has it mounted.
 *
 *     paths = mounted_paths_new(NULL);
 *     mounted_paths_of(paths, pid, dev, "run/part-0", path, sizeof(path));    "/mnt/checkpoints/run/part-0"
 *     mounted_paths_free(paths);
 *
 * A process's list of mounts is read once, and kept for a second; those of a few processes are. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_MOUNTED_PATHS_H
#define STALLPROF_PROFILER_MOUNTED_PATHS_H

#include <stddef.h>
#include <stdint.h>

struct mounted_paths;

/* NULL without memory. `proc` NULL: /proc. */
struct mounted_paths *mounted_paths_new(const char *proc);
void mounted_paths_free(struct mounted_paths *paths);

/*
 * Writes the path of `place` (from the root of the file system, without a slash in front) as the process sees it; as we do if that has
 * ended. `dev` as the kernel keeps it (major << 20 | minor). Of several mounts that have the place the one of the smallest part of the
 * file system counts, and of those the last. 0; -ENOENT: it is mounted nowhere, and `path` is the place with a slash in front;
 * -ENAMETOOLONG, and `path` is "".
 */
int mounted_paths_of(struct mounted_paths *paths, uint32_t pid, uint32_t dev, const char *place, char *path,
                     size_t size);

#endif
