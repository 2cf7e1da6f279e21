/* Following a wake to the request that caused it.
 *
 *   block_rq_complete(R)   this CPU completes R: marks[cpu] = R
 *     sched_waking(T)        T waited for R
 *     sched_waking(K)        K, a kernel thread or one of io_uring's, carries R from now on
 *     workqueue_queue_work   the work item carries R; whichever kworker runs it does too, while it runs it
 *   block_io_done(R)       the completion is over (before 6.5: the completing function returns); those who wait for
 *                          what it frees, a tag of the device say, are woken right after
 *   K: sched_waking(T)     T waited for R
 *   K goes to sleep        K carries nothing any more (jbd2 does, until its commit ends), unless it was on its way to
 *                          sleep when it was woken
 *
 * A timer that fires in the midst wakes its own sleepers: it runs deeper in interrupts than the completion, which the
 * CPU's preemption count tells.
 *
 * io_uring's threads poll and pass on what others of their process have done, without being woken: helpers[] has the last
 * thing that came to an end for any of them.
 */
#ifndef STALLPROF_FOLLOW_BPF_H
#define STALLPROF_FOLLOW_BPF_H

#include "bpf/mark.bpf.h"
#include "bpf/request_flags.bpf.h"

/* Between a hook and the request's own look at the clock; less than any request takes. */
#define REQUEST_STARTS_NS 30000
/* … at most, if the CPU is taken from the issuer in between. */
#define ISSUER_PREEMPTED_NS 20000000

/* By address of the task that serves others. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct carried);
} carriers SEC(".maps") __weak;

/* A bit for each that ever carried, by its pid: of all other threads it is known without a look at the map. */
#define CARRIER_BITS 1024
volatile __weak OWN_LINE __u64 carrier_bits[CARRIER_BITS / 64] = {};

/* By address of the queued work item; one that is cancelled ages away, or is queued again for something else (on_queue_work). */
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
	u64 issued_ns, bio; /* of this use of the request */
	u32 helper;         /* the process whose io_uring thread issued it, 0 none */
	u16 cause;          /* enum abi_cause: the worst that befell it */
	u16 state;          /* enum abi_nvme_state of its controller then */
};

/* By address of the request: only those that are of interest beyond their thread, from the moment they start. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);
	__type(value, struct request_info);
} requests SEC(".maps") __weak;

/* By address of the request: the mark of its completion, for a thread whose wake is not seen. Of those that timed out, or worse. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, struct carried);
} befallen SEC(".maps") __weak;

/* By address of the NVMe controller: when its last reset ended. It goes some time after that, or with its controller. */
struct reset {
	u64 end_ns;
	u64 before_ns; /* that of the one before */
	u64 state;     /* enum abi_nvme_state, the last that was told before the controller was live again */
};

#define RESET_GOES_ON ~0ULL
#define RESET_KEPT_NS 10000000000ULL
/* Behind a reset the driver looks at the controller's namespaces anew, and closes their queues once more for that. */
#define RESET_LOOK_NS 1000000000ULL

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, struct reset);
} resets SEC(".maps") __weak;

/* By process: what last came to an end for one of its io_uring threads. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct carried);
} helpers SEC(".maps") __weak;

ALWAYS u32 carrier_bit(const struct task_struct *thread)
{
	return thread->pid % CARRIER_BITS;
}

/* What the thread carries, NULL: nothing. */
ALWAYS struct carried *carried_by(const struct task_struct *thread)
{
	u32 bit = carrier_bit(thread);
	u64 key = (u64)thread;

	if (!(carrier_bits[bit / 64] >> bit % 64 & 1))
		return NULL;
	return bpf_map_lookup_elem(&carriers, &key);
}

ALWAYS void carry_now(const struct task_struct *thread, const struct carried *what)
{
	u32 bit = carrier_bit(thread);
	u64 key = (u64)thread;

	if (!(carrier_bits[bit / 64] >> bit % 64 & 1))
		__sync_fetch_and_or(&carrier_bits[bit / 64], 1ULL << bit % 64);
	if (bpf_map_update_elem(&carriers, &key, what, BPF_ANY))
		COUNT(follow_full);
}

ALWAYS void carry_no_more(const struct task_struct *thread)
{
	u64 key = (u64)thread;

	bpf_map_delete_elem(&carriers, &key);
}

/* One of io_uring's, which are threads of a process. */
ALWAYS bool is_helper(const struct task_struct *task)
{
	return !(task->flags & PF_KTHREAD) && serves_others(task);
}

/* The number of a disk that is known by its address alone; 0: there is none. As disk_dev(), which is faster. */
ALWAYS u32 disk_dev_at(struct gendisk *disk)
{
	struct nvme_ns *ns = BPF_CORE_READ(disk, private_data);
	struct gendisk *whole = NULL;

	if (BPF_CORE_READ(disk, flags) & DISK_HIDDEN && HAS_FIELD(ns, head))
		whole = BPF_CORE_READ(ns, head, disk);
	if (whole)
		disk = whole;
	return BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
}

/* The whole disk's number, as the kernel keeps it. Of NVMe's disks with several paths, whose requests are for one of these, the
 * disk's. */
ALWAYS u32 disk_dev(struct gendisk *disk)
{
	if (!disk)
		return 0;
	if (RARELY(disk->flags & DISK_HIDDEN))
		return disk_dev_at(disk);
	return disk->major << 20 | disk->first_minor;
}

ALWAYS u32 request_dev(struct request *rq)
{
	return disk_dev(rq->q->disk);
}

/* Whether the request is still in the use that was issued at `issued_ns` with `issued_bio`. Newer kernels (6.18) set its start after the
 * hook that tells of it; if the issuer is preempted in between, the start is late, and the bio decides. */
ALWAYS bool request_same_use(u64 start_ns, u64 bio, u64 issued_ns, u64 issued_bio)
{
	if (start_ns <= issued_ns + REQUEST_STARTS_NS)
		return true;
	return bio && bio == issued_bio && start_ns <= issued_ns + ISSUER_PREEMPTED_NS;
}

/* What is known of this use of the request; NULL: nothing. */
ALWAYS struct request_info *request_known(struct request *rq)
{
	u64 key = (u64)rq;
	struct request_info *info = any_requests ? bpf_map_lookup_elem(&requests, &key) : NULL;

	if (!info || request_same_use(BPF_CORE_READ(rq, start_time_ns), (u64)BPF_CORE_READ(rq, bio),
	                              info->issued_ns, info->bio))
		return info;
	bpf_map_delete_elem(&requests, &key);
	return NULL;
}

ALWAYS void request_note(struct request *rq, const struct request_info *info)
{
	u64 key = (u64)rq;

	any_requests = 1;
	if (bpf_map_update_elem(&requests, &key, info, BPF_ANY))
		COUNT(follow_full);
}

/* Something befell the request: those who wait for it bear the worst of all that did. `state`: see struct request_info. */
ALWAYS void request_befalls(struct request *rq, u32 cause, u32 state)
{
	struct request_info *known = request_known(rq), fresh = {};

	if (known) {
		if (known->cause > cause)
			return;
		known->cause = cause;
		known->state = state;
		return;
	}
	fresh.issued_ns = bpf_ktime_get_ns();
	fresh.bio = (u64)BPF_CORE_READ(rq, bio);
	fresh.cause = cause;
	fresh.state = state;
	request_note(rq, &fresh);
}

/* The controller of an NVMe queue; NULL: it is another driver's. */
ALWAYS struct nvme_ctrl *queue_controller(struct request_queue *q)
{
	struct nvme_ns *ns = BPF_CORE_READ(q, disk, private_data);
	struct nvme_ctrl *ctrl;
	void *tags;

	if (!HAS_FIELD(ns, ctrl))
		return NULL;
	ctrl = BPF_CORE_READ(ns, ctrl); /* another driver has whatever it likes in that place */
	tags = BPF_CORE_READ(ctrl, tagset);
	return tags && tags == BPF_CORE_READ(q, tag_set) ? ctrl : NULL;
}

/* A reset that began unseen: the controller's state tells. */
ALWAYS bool controller_recovers(struct nvme_ctrl *ctrl)
{
	u32 state = BPF_CORE_READ(ctrl, state);

	return state == bpf_core_enum_value(enum nvme_ctrl_state, NVME_CTRL_RESETTING) ||
	       state == bpf_core_enum_value(enum nvme_ctrl_state, NVME_CTRL_CONNECTING);
}

/* When the last reset of the queue's controller ended, RESET_GOES_ON; 0: there was none of late. */
ALWAYS u64 queue_reset_end(struct request_queue *q)
{
	struct nvme_ctrl *ctrl = any_resets ? queue_controller(q) : NULL;
	u64 key = (u64)ctrl;
	struct reset *reset;

	if (!ctrl)
		return 0;
	reset = bpf_map_lookup_elem(&resets, &key);
	if (reset)
		return reset->end_ns;
	return controller_recovers(ctrl) ? RESET_GOES_ON : 0;
}

/* The worst that has befallen a request by now. `reset_end_ns`: queue_reset_end() of its queue. */
ALWAYS u32 request_cause(struct request *rq, const struct request_info *known, u64 reset_end_ns)
{
	u64 start_ns = RARELY(reset_end_ns) ? request_start_ns(rq) : 0;

	if (RARELY(request_was_faulted(rq)))
		return ABI_CAUSE_IOMMU_FAULT;
	/* It was under way meanwhile. Of a queue that keeps no statistics (0) the sleep's begin tells that later. */
	if (reset_end_ns == RESET_GOES_ON || (start_ns && start_ns < reset_end_ns))
		return ABI_CAUSE_NVME_RESET;
	return known && known->cause ? known->cause : ABI_CAUSE_BLOCK_IO;
}

/* The last request that the thread issued, which may be over; NULL: none. */
ALWAYS struct request *last_request(const struct thread *t)
{
	u32 i = (t->n_issued - 1) & (REQUESTS_KEPT - 1);

	return (struct request *)t->issued[i].request;
}

/* What befell it, if it has completed since `since_ns`; NULL: nothing that is known. */
ALWAYS struct carried *last_befallen(const struct thread *t, u64 since_ns)
{
	u64 key = (u64)last_request(t);
	struct carried *known = key ? bpf_map_lookup_elem(&befallen, &key) : NULL;

	return known && known->since_ns > since_ns ? known : NULL;
}

/* Whether its controller was being reset at some time since `since_ns`. */
ALWAYS bool last_was_reset(const struct thread *t, u64 since_ns)
{
	struct request *rq = last_request(t);

	return any_resets && rq && queue_reset_end(BPF_CORE_READ(rq, q)) > since_ns;
}

/* What blk-throttle let go of the task's cgroup since the thread fell asleep, NULL: nothing. */
ALWAYS struct held_back *held_back_of(struct task_struct *task, const struct thread *t)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css = NULL;
	struct held_back *held;
	u64 key;

	if (!set || !bpf_core_enum_value_exists(enum cgroup_subsys_id, io_cgrp_id))
		return NULL;
	bpf_core_read(&css, sizeof(css),
	              &set->subsys[bpf_core_enum_value(enum cgroup_subsys_id, io_cgrp_id)]);
	key = (u64)css;
	held = bpf_map_lookup_elem(&held_back, &key);
	return held && held->ns > t->sleep_ns ? held : NULL;
}

/* What the running context stands for: the request that this CPU completes, or what its thread carries. NULL when
 * nothing. */
ALWAYS struct carried *followed_here(struct task_struct *current, u64 *now)
{
	struct carried *mark = mark_valid(current, false, now), *carried;

	if (mark || !serves_others(current))
		return mark;
	carried = carried_by(current);
	return carried && !interrupt_depth(current) ? carried : NULL;
}

/* The thread of io_uring passes something on to `t` of its process, and was not woken for it itself. */
ALWAYS struct carried *followed_helper(struct task_struct *current, const struct thread *t)
{
	struct carried *last;
	u32 tgid = current->tgid;

	if (!is_helper(current) || interrupt_depth(current) || t->tgid != tgid)
		return NULL;
	last = bpf_map_lookup_elem(&helpers, &tgid);
	return last && last->since_ns > t->sleep_ns ? last : NULL;
}

ALWAYS void helper_note(u32 tgid, const struct carried *from)
{
	struct carried last = *from;

	last.since_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&helpers, &tgid, &last, BPF_ANY))
		COUNT(follow_full);
}

/* A thread that is woken now has left the run queue, but not the CPU yet. */
ALWAYS bool woken_early(const struct task_struct *task)
{
	const struct sched_entity *se = &task->se;
	bool delayed = HAS_FIELD(se, sched_delayed) && se->sched_delayed;

	return (!task->on_rq || delayed) && HAS_FIELD(task, on_cpu) && task->on_cpu;
}

/* Lets `thread`, which serves others, carry what `from` stands for; a commit keeps its own nature. */
ALWAYS void carry(struct task_struct *thread, const struct carried *from)
{
	struct carried *old = carried_by(thread), fresh = *from;

	fresh.sticky = 0;
	fresh.ending = 0;
	fresh.early = woken_early(thread) ? CARRIED_EARLY : CARRIED_IN_TIME;
	if (is_helper(thread))
		helper_note(thread->tgid, &fresh);
	if (old && old->sticky) {
		if (fresh.cause > old->cause)
			old->cause = fresh.cause;
		return;
	}
	carry_now(thread, &fresh);
}

#endif
