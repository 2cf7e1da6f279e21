/*
 * Whether profiles that are summed are of the same time: a window that is there twice would count twice, and of two hosts, or where the
 * clock was set back, one moment has what happened at two. Recordings of one machine side by side, as of ranks, are none of that.
 */
#ifndef STALLPROF_PROFILER_LOADED_OVERLAPS_H
#define STALLPROF_PROFILER_LOADED_OVERLAPS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct profile;

#define LOADED_HOST_BYTES 64
#define LOADED_OVERLAP_NS 100000000ULL /* a shorter one is how windows meet */

struct loaded_overlaps {
	size_t twice;                    /* windows that are there already, and were left out */
	size_t hosts;                    /* windows of a time of which there is one of another host */
	char host[2][LOADED_HOST_BYTES]; /* the first two of those */
	size_t clock;                    /* … one by whose clock the machine was booted at another time */
	uint64_t clock_ns;               /* by that much at most */
};

struct loaded_window {
	uint64_t first_ns, last_ns, booted_ns;
	char host[LOADED_HOST_BYTES];
};

/* Zeroed at first. */
struct loaded_windows {
	struct loaded_window *windows;
	size_t n, room;
};

void loaded_windows_free(struct loaded_windows *windows);

/* Looks at a profile's notes before it is added. 1: it is there already, which is counted; 0; -ENOMEM. */
int loaded_windows_add(struct loaded_windows *windows, const struct profile *profile,
                       struct loaded_overlaps *overlaps);

/* Why what is said of the sum may be wrong: sentences, each behind `before` and with `behind` behind it. */
void loaded_overlaps_text(FILE *out, const struct loaded_overlaps *overlaps, const char *before,
                          const char *behind);

#endif
