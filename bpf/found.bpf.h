/*
 * Threads that the kernel does not let us find.
 *
 * Before Linux 6.2 a CPU counts who is at task storage there, of whatever BPF program or map: bpf_task_storage_get() gives NULL while
 * somebody is, as its caller may have interrupted or preempted who holds the lock. So a program in an interrupt, or one on a CPU on which
 * another thread was preempted in the helper, sees a tagged thread as one without a tag. That is counted.
 */
#ifndef STALLPROF_FOUND_BPF_H
#define STALLPROF_FOUND_BPF_H

#include "bpf/state.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_local_storage_data {
	void *smap; /* the map that it is of */
};

struct bpf_local_storage {
	struct bpf_local_storage_data *cache[16]; /* those that were asked for last */
};

#pragma clang attribute pop

/* An int of the CPU that we are on. Not every kernel gives the names of such variables away; but they lie at a fixed distance from the CPU's
 * run queue, to which each task leads. 0: not known. */
ALWAYS u32 cpu_variable(struct task_struct *current, s64 from_rq)
{
	struct refcount_struct *count; /* any struct that is an int */
	struct cfs_rq *cfs;

	if (!from_rq || !HAS_FIELD(current, se.cfs_rq))
		return 0;
	cfs = current->se.cfs_rq;
	if (!HAS_FIELD(cfs, rq))
		return 0;
	count = (void *)((u64)cfs->rq + from_rq);
	return BPF_CORE_READ(count, refs.counter);
}

/* The task's storage (its address) was not found in `threads`: counts it if it is there. The kernel remembers for each map what of a task
 * was found last. */
VERIFIED_ONCE int count_refused(u64 address)
{
	struct bpf_local_storage *storage = (struct bpf_local_storage *)address;
	struct bpf_local_storage_data *data;
	u32 i;

	if (!storage_busy_from_rq || !cpu_variable(bpf_get_current_task_btf(), storage_busy_from_rq))
		return 0;
	for (i = 0; i < sizeof(storage->cache) / sizeof(storage->cache[0]); i++) {
		data = NULL;
		bpf_core_read(&data, sizeof(data), &storage->cache[i]);
		if (!data || BPF_CORE_READ(data, smap) != &threads)
			continue;
		COUNT(threads_busy);
		break;
	}
	return 0;
}

#endif
