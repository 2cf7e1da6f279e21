/* Sums a window's jobs of GPUs, and finds those that took too long. */

#include "profiler/session/gpu_jobs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/config/config.h"
#include "profiler/format/gpu_job_rows.h"

/* How long jobs took: buckets of which each is a sixteenth of its value wide. */
#define PART_BITS 4
#define PARTS     (1u << PART_BITS)
#define BUCKETS   ((64 - PART_BITS + 1) * PARTS)

struct series {
	struct gpu_job_row row; /* its texts are parts of the key */
	uint64_t buckets[BUCKETS];
	UT_hash_handle hh;
	size_t key_bytes;
	char key[]; /* driver, ring and class, each with its NUL */
};

struct gpu_jobs {
	const struct config_gpu_jobs *limits;
	struct series *series;
	char *key; /* of the job that is being added */
	size_t key_room;
};

struct gpu_jobs *gpu_jobs_new(const struct config_gpu_jobs *limits)
{
	struct gpu_jobs *jobs = calloc(1, sizeof(*jobs));

	if (jobs)
		jobs->limits = limits;
	return jobs;
}

void gpu_jobs_free(struct gpu_jobs *jobs)
{
	struct series *series, *next;

	if (!jobs)
		return;
	HASH_ITER (hh, jobs->series, series, next) {
		HASH_DEL(jobs->series, series);
		free(series);
	}
	free(jobs->key);
	free(jobs);
}

/* --- how long they took --------------------------------------------------------------------------------- */

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int shift = ns < PARTS ? 0 : 63 - (unsigned int)__builtin_clzll(ns) - PART_BITS;

	return shift * PARTS + (unsigned int)(ns >> shift);
}

/* The least that is in the bucket. */
static uint64_t bucket_begin(unsigned int bucket)
{
	unsigned int shift = bucket < 2 * PARTS ? 0 : bucket / PARTS - 1;

	return (uint64_t)(bucket - shift * PARTS) << shift;
}

/* What nine of ten jobs took at most, as the most that is in its bucket. */
static uint64_t p90_of(const struct series *series)
{
	uint64_t wanted = series->row.jobs - series->row.jobs / 10, seen = 0;

	for (unsigned int i = 0; i + 1 < BUCKETS; i++) {
		seen += series->buckets[i];
		if (seen >= wanted)
			return bucket_begin(i + 1) - 1;
	}
	return UINT64_MAX;
}

static uint64_t jobs_beyond(const struct series *series, double limit_ns)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < BUCKETS; i++)
		n += (double)bucket_begin(i) > limit_ns ? series->buckets[i] : 0;
	return n;
}

/* --- sums ----------------------------------------------------------------------------------------------- */

/* Writes the key and says how long it is; 0 without memory. */
static size_t make_key(struct gpu_jobs *jobs, const char *class, const struct abi_gpu_job *job)
{
	size_t bytes = sizeof(job->driver) + sizeof(job->ring) + strlen(class) + 3;

	if (bytes > jobs->key_room) {
		char *key = realloc(jobs->key, bytes);

		if (!key)
			return 0;
		jobs->key = key;
		jobs->key_room = bytes;
	}
	return (size_t)snprintf(jobs->key, jobs->key_room, "%.*s%c%.*s%c%s", (int)sizeof(job->driver) - 1,
	                        job->driver, 0, (int)sizeof(job->ring) - 1, job->ring, 0, class) +
	       1;
}

static struct series *series_new(const char *key, size_t key_bytes)
{
	struct series *series = calloc(1, sizeof(*series) + key_bytes);

	if (!series)
		return NULL;
	memcpy(series->key, key, key_bytes);
	series->key_bytes = key_bytes;
	series->row.driver = series->key;
	series->row.ring = series->row.driver + strlen(series->row.driver) + 1;
	series->row.class = series->row.ring + strlen(series->row.ring) + 1;
	return series;
}

/* NULL with errno ENOMEM or ENOSPC. */
static struct series *series_of(struct gpu_jobs *jobs, const char *class, const struct abi_gpu_job *job)
{
	size_t key_bytes = make_key(jobs, class, job);
	struct series *found = NULL;

	errno = ENOMEM;
	if (!key_bytes)
		return NULL;
	HASH_FIND(hh, jobs->series, jobs->key, key_bytes, found);
	if (found)
		return found;
	errno = ENOSPC;
	if (HASH_COUNT(jobs->series) >= GPU_JOB_ROWS_MAX)
		return NULL;
	errno = ENOMEM;
	found = series_new(jobs->key, key_bytes);
	if (!found)
		return NULL;
	HASH_ADD_KEYPTR(hh, jobs->series, found->key, found->key_bytes, found);
	if (found->hh.tbl)
		return found;
	free(found);
	errno = ENOMEM;
	return NULL;
}

/* What is too long for a phase: more than that part of the job's time, and longer than that. */
struct bound {
	uint64_t percent, ns;
};

static bool is_slow(const struct bound *bound, const struct abi_gpu_job *job, uint64_t ns)
{
	return bound->percent && ns > bound->ns &&
	       (double)ns * 100 > (double)job->total_ns * (double)bound->percent;
}

_Static_assert((int)ABI_GPU_PHASES == (int)GPU_JOB_PHASES, "one for one");

int gpu_jobs_add(struct gpu_jobs *jobs, const char *class, const struct abi_gpu_job *job)
{
	const struct config_gpu_jobs *limits = jobs->limits;
	const struct bound bounds[GPU_JOB_PHASES] = {
		[GPU_JOB_SUBMIT] = { limits->submit_percent, limits->submit_ns },
		[GPU_JOB_QUEUE] = { limits->queue_percent, limits->queue_ns },
		[GPU_JOB_WAIT] = { limits->wait_percent, 0 },
	};
	struct series *series = series_of(jobs, class, job);

	if (!series)
		return -errno;
	series->row.jobs++;
	series->row.total_ns += job->total_ns;
	series->row.faults += job->error < 0;
	series->buckets[bucket_of(job->total_ns)]++;
	for (unsigned int i = 0; i < GPU_JOB_PHASES; i++) {
		struct gpu_job_times *times = &series->row.phase[i];

		if (!(job->known & 1u << i))
			continue;
		times->jobs++;
		times->ns += job->ns[i];
		times->slow += is_slow(&bounds[i], job, job->ns[i]);
	}
	return 0;
}

int gpu_jobs_take(const struct gpu_jobs *jobs, struct gpu_job_rows *rows)
{
	const struct series *series;
	int err = 0;

	for (series = jobs->series; series && !err; series = series->hh.next) {
		struct gpu_job_row row = series->row;

		row.p90_ns = p90_of(series);
		row.long_tail =
		        jobs_beyond(series, (double)row.p90_ns * (double)jobs->limits->tail_percent / 100);
		err = gpu_job_rows_add(rows, &row);
	}
	return err;
}
