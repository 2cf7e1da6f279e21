/* Which GPUs' jobs wait for another one's fence, and since when.
 *
 * A job waits for one fence at a time: when that is signaled, the scheduler looks at the job's next dependency, or runs it. So a job knows its
 * fence (`waits_for`), and has one entry in `gpu_waiters`, by which the fence finds the job; whatever ends the wait takes the entry back:
 * the fence, the next dependency, the run, or the job's end. An entry whose job waits for another fence is nobody's.
 *
 * The unit test builds this file for the machine itself (tests/unit/bpf/test_gpu_waits.c). */
#ifndef STALLPROF_GPU_WAITS_BPF_H
#define STALLPROF_GPU_WAITS_BPF_H

#include "bpf/state.bpf.h"

struct gpu_job {
	u64 tag;
	u64 begin_ns;       /* of handing it over; queued_ns if that is not known */
	u64 queued_ns;      /* since when it is in the queue */
	u64 run_ns;         /* … with the device; 0: not yet */
	u64 waited_ns;      /* for other jobs, up to now */
	u64 waits_since_ns; /* for another job, if waits_for is not 0 */
	u64 waits_for;      /* the address of that one's fence; 0: none */
	u32 known;          /* a bit for each enum abi_gpu_phase */
	u32 generation;     /* hot_generation when it began */
	char driver[ABI_GPU_NAME_LEN], ring[ABI_GPU_NAME_LEN];
};

/* By the fence that it signals, or where its answer goes. User space makes room where there is a GPU. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct gpu_job);
} gpu_jobs SEC(".maps") __weak;

/* The jobs that wait for a fence, by its address and, for some that wait for the same, the numbers behind it. */
#define WAITERS_OF_FENCE 4
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u64); /* its key in gpu_jobs */
} gpu_waiters SEC(".maps") __weak;

volatile __weak __u32 any_gpu_waiters = 0; /* there ever was one */

ALWAYS struct gpu_job *job_known(u64 key)
{
	struct gpu_job *job = bpf_map_lookup_elem(&gpu_jobs, &key);

	return job && job->generation == hot_generation ? job : NULL;
}

ALWAYS struct gpu_job *waiter_of(u64 key, u64 fence)
{
	struct gpu_job *job = job_known(key);

	return job && job->waits_for == fence ? job : NULL;
}

/* Its fence's signal and whatever else ends the wait may come at once, on two CPUs: one of them counts it. */
ALWAYS void wait_is_over(struct gpu_job *job, u64 fence, u64 now)
{
	u64 began = job->waits_since_ns;

	if (__sync_val_compare_and_swap(&job->waits_for, fence, 0) == fence)
		job->waited_ns += since(now, began);
}

/* The job, if it waits, waits no more, whether its fence was seen to be signaled or not. */
NOW_AND_THEN void job_waits_no_more(u64 key, struct gpu_job *job, u64 now)
{
	u64 at = job->waits_for, *waiter;
	u32 i;

	if (!at)
		return;
	wait_is_over(job, at, now);
	for (i = 0; i < WAITERS_OF_FENCE; i++, at++) {
		waiter = bpf_map_lookup_elem(&gpu_waiters, &at);
		if (waiter && *waiter == key) {
			bpf_map_delete_elem(&gpu_waiters, &at);
			return;
		}
	}
}

/* It waits for the fence from now on. Of more jobs than WAITERS_OF_FENCE the others are told to wait until they run. */
NOW_AND_THEN void job_waits_for(u64 key, struct gpu_job *job, u64 fence, u64 now)
{
	u64 at = fence, *waiter;
	u32 i;

	job_waits_no_more(key, job, now);
	job->waits_since_ns = now;
	job->waits_for = fence;
	any_gpu_waiters = 1;
	for (i = 0; i < WAITERS_OF_FENCE; i++, at++) {
		waiter = bpf_map_lookup_elem(&gpu_waiters, &at);
		if (waiter && waiter_of(*waiter, fence))
			continue;
		if (!bpf_map_update_elem(&gpu_waiters, &at, &key, BPF_ANY))
			return;
	}
}

/* The fence is signaled: those that wait for it, wait no more. */
NOW_AND_THEN void waiters_go_on(u64 fence, u64 now)
{
	u64 at = fence, key, *waiter;
	struct gpu_job *job;
	u32 i;

	for (i = 0; i < WAITERS_OF_FENCE; i++, at++) {
		waiter = bpf_map_lookup_elem(&gpu_waiters, &at);
		if (!waiter)
			continue;
		key = *waiter;
		bpf_map_delete_elem(&gpu_waiters, &at);
		job = waiter_of(key, fence);
		if (job)
			wait_is_over(job, fence, now);
	}
}

#endif
