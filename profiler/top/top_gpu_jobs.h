/*
 * Whose jobs the GPUs did: the rows with most time first, those of tags alone unless there are none.
 *
 *     Whose jobs the GPUs did, and how long one took:
 *       amdgpu gfx_0.0.0  train_step  1204 in 31.7 ms: 0.12 ms submit, 3.1 ms queue, 0 ns wait, 28.5 ms run; 12 queued long, 3 in the long tail
 *       i915 rcs0         train_step  77 in 2.1 ms: 0.30 ms submit, the rest not told apart
 */
#ifndef STALLPROF_PROFILER_TOP_GPU_JOBS_H
#define STALLPROF_PROFILER_TOP_GPU_JOBS_H

#include <stddef.h>
#include <stdio.h>

#include "profiler/format/gpu_job_rows.h"

struct json_writer;
struct loaded_profiles;

struct top_gpu_jobs {
	const struct gpu_job_row **rows; /* with most time first */
	size_t count;
};

/* Rows are the input's own. 0 or -ENOMEM; only after 0 is there something to free. */
int top_gpu_jobs_build(struct top_gpu_jobs *jobs, const struct loaded_profiles *input);
void top_gpu_jobs_free(struct top_gpu_jobs *jobs);

/* Prints a heading and at most `limit` lines (0: all) of `columns` (0: no bound); nothing when there are no rows. Returns the
 * number of lines. */
size_t top_text_gpu_jobs(FILE *out, const struct top_gpu_jobs *jobs, size_t limit, size_t columns);

/* Writes the input's rows as the value of the key "gpu_jobs". What is not known is null. */
void top_json_gpu_jobs(struct json_writer *json, const struct loaded_profiles *input);

#endif
