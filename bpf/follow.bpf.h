/* Following a wake to the request that caused it.
 *
 *   block_rq_complete(R)   this CPU completes R: marks[cpu] = R
 *     sched_waking(T)        T waited for R
 *     sched_waking(K)        K, a kernel thread, carries R from now on
 *     workqueue_queue_work   the work item carries R; whichever kworker runs it does too, while it runs it
 *   block_io_done(R)       marks[cpu] = nothing (before 6.5: the completing function returns)
 *   K: sched_waking(T)     T waited for R
 *   K goes to sleep        K carries nothing any more (jbd2 does, until its commit ends)
 */
#ifndef STALLPROF_FOLLOW_BPF_H
#define STALLPROF_FOLLOW_BPF_H

#include "bpf/state.bpf.h"

/* A completion lasts microseconds. Where block_io_done never comes (a queue that keeps no statistics), the mark
 * must not outlive it. */
#define MARK_LASTS_NS 500000

struct carried {
	u64 request; /* its address, 0 none */
	u64 since_ns;
	u32 dev;
	u16 cause;
	u8 sticky; /* a journal commit: lasts over sleeps */
	u8 ending; /* … and is over when the thread next sleeps */
	u32 level; /* of a mark: how deep in interrupts the completion runs */
	u32 depth; /* of the CPU now, in the same place as its mark */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct carried);
} marks SEC(".maps") __weak;

/* By address of the kernel thread's task. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct carried);
} carriers SEC(".maps") __weak;

/* By address of the queued work item; one that is cancelled is never taken, and ages away. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct carried);
} works SEC(".maps") __weak;

/* When, and on which disk, a request of the cgroup (its cgroup_subsys_state) was last let go by blk-throttle. A wait
 * that goes on while that happens is throttled, though its own end has not told so yet. */
struct held_back {
	u64 ns;
	u32 dev, unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, struct held_back);
} held_back SEC(".maps") __weak;

struct request_info {
	u32 tid; /* the tagged thread that issued it, 0 none */
	u32 throttled;
};

/* By address of the request: only those that are of interest, from the moment they start. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);
	__type(value, struct request_info);
} requests SEC(".maps") __weak;

/* Requests in flight by issuing tagged thread (tid). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, s64);
} inflight SEC(".maps") __weak;

/* Completions that are still to come find no count, and change none. */
ALWAYS void inflight_forget(u32 tid)
{
	bpf_map_delete_elem(&inflight, &tid);
}

ALWAYS struct carried *mark_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&marks, &zero);
}

/* The request that this CPU completes, NULL when it does not. */
ALWAYS struct carried *mark_valid(void)
{
	struct carried *mark = mark_here();

	if (!mark || !mark->request)
		return NULL;
	if (bpf_ktime_get_ns() - mark->since_ns >= MARK_LASTS_NS) {
		mark->request = 0;
		return NULL;
	}
	/* An interrupt in the middle of the completion, a timer's say, wakes others for reasons of its own. */
	return mark->level == mark->depth ? mark : NULL;
}

/* The whole disk's number, as the kernel keeps it. */
ALWAYS u32 disk_dev(struct gendisk *disk)
{
	return BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
}

ALWAYS u32 request_dev(struct request *rq)
{
	return disk_dev(BPF_CORE_READ(rq, q, disk));
}

/* What the running context stands for: the request that this CPU completes, or what its kernel thread
 * carries. NULL when nothing. */
ALWAYS struct carried *followed_here(struct task_struct *current)
{
	struct carried *mark = mark_here();
	u64 key = (u64)current;

	if (!mark)
		return NULL;
	if (mark->request)
		return mark_valid();
	if (current->flags & PF_KTHREAD && !mark->depth)
		return bpf_map_lookup_elem(&carriers, &key);
	return NULL;
}

/* Lets `thread` (a kernel thread) carry what `from` stands for; a commit keeps its own nature. */
ALWAYS void carry(struct task_struct *thread, const struct carried *from)
{
	u64 key = (u64)thread;
	struct carried *old = bpf_map_lookup_elem(&carriers, &key);
	struct carried fresh = *from;

	fresh.sticky = 0;
	fresh.ending = 0;
	if (old && old->sticky) {
		if (fresh.cause > old->cause)
			old->cause = fresh.cause;
		return;
	}
	if (bpf_map_update_elem(&carriers, &key, &fresh, BPF_ANY))
		COUNT(follow_full);
}

#endif
