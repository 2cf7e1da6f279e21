/*
 * What became of the jobs of GPUs: by class of tags, driver and ring, how many there were, how long they took, with what, and how many of
 * them took too long. Jobs overlap, so their times are no part of anybody's wall time. Rows of equal key are summed. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_GPU_JOB_ROWS_H
#define STALLPROF_PROFILER_GPU_JOB_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct profile;

#define GPU_JOB_ROWS_MAX 4096

/* In the order of enum abi_gpu_phase (bpf/abi_gpu.h), which says what they are. */
enum gpu_job_phase { GPU_JOB_SUBMIT, GPU_JOB_QUEUE, GPU_JOB_WAIT, GPU_JOB_RUN, GPU_JOB_PHASES };

struct gpu_job_times {
	uint64_t jobs; /* of which the kernel's hooks tell it; 0: of none, so that the rest is not known */
	uint64_t ns;   /* in all of these */
	uint64_t slow; /* those of them in which it took too long; always 0 for GPU_JOB_RUN */
};

struct gpu_job_row {
	const char *driver; /* for example "virtio_gpu" */
	const char *ring;   /* as the driver calls it */
	const char *class;  /* the value of ai_tag; "": of no tag */
	uint64_t jobs;      /* that are over */
	uint64_t total_ns;  /* from their begin to their end; the sum of their phases where all are known */
	uint64_t p90_ns; /* 90 % of the jobs took no longer, to a sixteenth; of several windows the largest */
	uint64_t long_tail; /* those that took much longer than that in their window */
	uint64_t faults;    /* those that failed */
	struct gpu_job_times phase[GPU_JOB_PHASES];
};

struct gpu_job_rows;

/* submit, queue, wait, run */
const char *gpu_job_phase_name(enum gpu_job_phase phase);

/* NULL with errno ENOMEM. */
struct gpu_job_rows *gpu_job_rows_new(void);
void gpu_job_rows_free(struct gpu_job_rows *rows);

/* Adds a copy of row; NULL strings count as "". 0; -ENOMEM; -ENOSPC beyond GPU_JOB_ROWS_MAX. Sums saturate. */
int gpu_job_rows_add(struct gpu_job_rows *rows, const struct gpu_job_row *row);

/* Sorted by driver, ring, class. The pointers are valid until the next gpu_job_rows_add(). */
size_t gpu_job_rows_count(const struct gpu_job_rows *rows);
const struct gpu_job_row *gpu_job_rows_at(const struct gpu_job_rows *rows, size_t index);

/*
 * Adds a note for each row, in the form of note_line.h:
 *
 *     stallprof.gpu_jobs driver=amdgpu ring=gfx_0.0.0 class=train jobs=3 total_ns=90 p90_ns=40 long_tail=0 faults=0
 *         submit_jobs=3 submit_ns=10 submit_slow=0 queue_jobs=… wait_jobs=… run_jobs=…
 *
 * The fields of a phase are left out where its jobs are 0. 0, -ENOMEM, or what profile_add_note says.
 */
int gpu_job_rows_to_notes(const struct gpu_job_rows *rows, struct profile *profile);

/* Adds the rows of a profile's notes. Lines that are not as above are skipped and counted in *malformed (added to it;
 * may be NULL). 0, or as gpu_job_rows_add(). */
int gpu_job_rows_from_notes(struct gpu_job_rows *rows, const struct profile *profile, size_t *malformed);

#endif
