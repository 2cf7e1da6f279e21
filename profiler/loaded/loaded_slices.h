/*
 * The time slices of a file of one window: samples of such a file say by the label "at" in which slice their wait ended.
 */
#ifndef STALLPROF_PROFILER_LOADED_SLICES_H
#define STALLPROF_PROFILER_LOADED_SLICES_H

#include <stddef.h>
#include <stdint.h>

#include "pprof/profile.h"

#define LOADED_SLICES_MAX 10000

struct loaded_profiles;

struct loaded_slices {
	int64_t begin_ns, width_ns; /* Unix time; the last slice may be cut by the recording's end */
	size_t count;               /* at least 1; 1: the file has none */
};

/* The slices that the file covers, also those in which no wait ended. 0, -ENOMEM. */
int loaded_slices_find(struct loaded_slices *slices, const struct loaded_profiles *input);

/* How wide they are, however many there are; 0: the samples name fewer than two. 0, -ENOMEM. */
int loaded_slices_width(int64_t *width_ns, const struct loaded_profiles *input);

/* In which a sample is; 0 where it does not say. */
size_t loaded_slices_of(const struct loaded_slices *slices, const struct profile_sample_view *view);

#endif
