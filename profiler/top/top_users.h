/*
 * Who used the CPUs and the disk that tagged threads waited for, where they waited much: told of the whole recording, so that a program that
 * ran from its beginning to its end is named, too.
 *
 *     CPUs were used most by: stress-ng (4 processes, 3.9 CPUs), python (pid 12, tagged, 0.5 CPUs)
 *     vda was used most, without a tag, by: dd (pid 31, 310 MB/s)
 */
#ifndef STALLPROF_PROFILER_TOP_USERS_H
#define STALLPROF_PROFILER_TOP_USERS_H

#include <stddef.h>
#include <stdio.h>

#include "profiler/loaded/loaded_users.h"

struct loaded_profiles;

/* Of the CPUs, and of the disk that was waited for most. */
#define TOP_USERS_MAX 2

/* How many of them were waited for much, and have users that are known; without memory less. */
size_t top_users_find(struct loaded_users found[TOP_USERS_MAX], const struct loaded_profiles *input);

/* Prints at most two lines of `columns` (0: no bound), behind an empty one. Returns how many with that; without memory none. */
size_t top_text_users(FILE *out, const struct loaded_profiles *input, size_t columns);

#endif
