/*
 * The time slices of a file of one window: samples of such a file say by the label "at" in which slice their wait ended.
 */
#ifndef STALLPROF_PROFILER_DIFF_SLICES_H
#define STALLPROF_PROFILER_DIFF_SLICES_H

#include <stddef.h>
#include <stdint.h>

#include "pprof/profile.h"

#define DIFF_SLICES_MAX 10000

struct loaded_profiles;

struct diff_slices {
	int64_t begin_ns, width_ns; /* Unix time; the last slice may be cut by the recording's end */
	size_t count;               /* at least 1; 1: the file has none */
};

/* The slices that the file covers, also those in which no wait ended. 0, -ENOMEM. */
int diff_slices_find(struct diff_slices *slices, const struct loaded_profiles *input);

/* In which a sample is; 0 where it does not say. */
size_t diff_slices_of(const struct diff_slices *slices, const struct profile_sample_view *view);

#endif
