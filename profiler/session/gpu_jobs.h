/*
 * The GPUs' jobs of a window: summed by class, driver and ring, and judged by the configuration's thresholds.
 *
 *     jobs = gpu_jobs_new(&config->gpu_jobs);
 *     gpu_jobs_add(jobs, class, job);       each job that is over
 *     gpu_jobs_take(jobs, rows);            at the end: what is slow compared with the others is known only then
 *     gpu_jobs_free(jobs);
 */
#ifndef STALLPROF_PROFILER_GPU_JOBS_H
#define STALLPROF_PROFILER_GPU_JOBS_H

#include "bpf/abi.h"

struct config_gpu_jobs;
struct gpu_job_rows;
struct gpu_jobs;

/* `limits` must outlive it. NULL with errno ENOMEM. */
struct gpu_jobs *gpu_jobs_new(const struct config_gpu_jobs *limits);
void gpu_jobs_free(struct gpu_jobs *jobs);

/* `class`: "" for a job of no tag. 0, -ENOMEM, or -ENOSPC beyond GPU_JOB_ROWS_MAX rows. */
int gpu_jobs_add(struct gpu_jobs *jobs, const char *class, const struct abi_gpu_job *job);

/* Adds what there is to the rows. 0, or as gpu_job_rows_add(). */
int gpu_jobs_take(const struct gpu_jobs *jobs, struct gpu_job_rows *rows);

#endif
