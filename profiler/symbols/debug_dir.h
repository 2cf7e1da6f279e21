/*
 * A folder of debug files by build-id, FOLDER/.build-id/ab/cdef.debug, of bounded size. Each file in it is whole at
 * every moment; several processes may use it at once.
 */
#ifndef STALLPROF_PROFILER_DEBUG_FOLDER_H
#define STALLPROF_PROFILER_DEBUG_FOLDER_H

#include <stdint.h>

/*
 * Makes the folder, and its parent, when missing, and removes files that were left half-written a day ago or
 * earlier. -EPERM: it belongs to someone else, or others may write to it; -errno.
 */
int debug_dir_make(const char *dir);

/* Makes a new file for the caller to fill; *path is the caller's to free. Returns the descriptor, or -errno. */
int debug_dir_begin(const char *dir, char **path);

/* Moves the file at `path` to its place by build-id. 0, -errno. There is nothing at `path` afterwards in any
 * case. */
int debug_dir_keep(const char *dir, const char *path, const char *build_id);

/* Removes the files used longest ago until the rest has at most max_bytes; never the file of build-id `except`. */
void debug_dir_trim(const char *dir, uint64_t max_bytes, const char *except);

#endif
