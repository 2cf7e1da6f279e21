/*
 * Samples summed by what the user wants to compare.
 */
#ifndef STALLPROF_PROFILER_TOP_TABLE_H
#define STALLPROF_PROFILER_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pprof/profile.h"
#include "profiler/loaded/loaded_sample.h"
#include "profiler/top/top_names.h"

struct loaded_profiles;
struct top_sums;

struct top_entry {
	const char
	        *name; /* of a stack: stall, device and class, then its frames, leaf first, one a line each */
	int64_t flat;  /* the value where it is the leaf (or the whole stack, tag …) */
	int64_t cum;   /* the value where it is anywhere in the stack */
	uint64_t samples; /* that cum sums over */
	bool is_own;      /* not the C code below Python wherever it is (loaded_frames.h) */
};

struct top_table {
	struct top_entry *entries; /* heaviest cum first, or heaviest flat, then the other, then by name */
	size_t count;
	int64_t total; /* of the samples that pass the filter */
	uint64_t samples;
	struct top_sums *memory;
};

/* Sums value type `type` (its index). Native frames of Python stacks are counted as any other. 0 or -ENOMEM; only
 * after 0 is there something to free. Sums saturate. */
int top_table_build(struct top_table *table, const struct loaded_profiles *input,
                    const struct loaded_tags *tags, const struct loaded_filter *filter, enum top_by by,
                    size_t type, bool by_cum);
/* Leaves out what is native code below Python wherever it is, as screens and flame graphs do. No value changes. */
void top_table_fold(struct top_table *table);
void top_table_free(struct top_table *table);

#endif
