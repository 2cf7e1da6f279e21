/* The user's cache folder: $XDG_CACHE_HOME, else ~/.cache. */
#ifndef STALLPROF_PROFILER_USER_CACHE_H
#define STALLPROF_PROFILER_USER_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Gives the path of `name` in the cache folder, which is made when it is missing (mode 0700); `name` is not made.
 * False: the environment names no absolute path, or one that is too long for `size`.
 */
bool user_cache_path(const char *name, char *path, size_t size);

#endif
