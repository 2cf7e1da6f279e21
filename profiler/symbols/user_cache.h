/* Where a user's programs keep what they can find out again: $XDG_CACHE_HOME, else ~/.cache. */
#ifndef STALLPROF_PROFILER_USER_CACHE_H
#define STALLPROF_PROFILER_USER_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The path of `name` in there; the folder that it is in is made when it is missing (mode 0700), `name` is not.
 * False: the environment names no absolute path, or one that is too long for `size`.
 */
bool user_cache_path(const char *name, char *path, size_t size);

#endif
