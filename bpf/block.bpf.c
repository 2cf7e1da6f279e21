/* The block layer's side: which request this CPU completes, and what befell it. */
#include "bpf/kernel_threads.bpf.h"
#include "bpf/request_flags.bpf.h"
#include "bpf/requests.bpf.h"
#include "bpf/thread.bpf.h"
#include "bpf/wait.bpf.h"

/* Whether the queue is blk-throttle's, whose work sends on what was held back: it alone has that name. */
ALWAYS bool queue_is_throttles(const struct workqueue_struct *wq)
{
	union {
		char text[16];
		u64 words[2];
	} kthrotld = { "kthrotld" }, name = {};

	bpf_probe_read_kernel(name.text, sizeof("kthrotld"), wq->name);
	return name.words[0] == kthrotld.words[0] && name.words[1] == kthrotld.words[1];
}

/* Whether the current kworker dispatches what blk-throttle held back. Its queue tells, as that the work was queued may not have been seen. */
ALWAYS bool dispatches_throttled(struct task_struct *current)
{
	struct worker *worker;

	if (!(current->flags & PF_WQ_WORKER))
		return false;
	worker = kthread_data(current);
	return queue_is_throttles(BPF_CORE_READ(worker, current_pwq, wq));
}

ALWAYS void note_held_back(struct request *rq)
{
	struct held_back now = { .ns = bpf_ktime_get_ns(), .dev = request_dev(rq) };
	struct bio *bio = rq->bio;
	u64 css;

	if (!bio || !HAS_FIELD(bio, bi_blkg))
		return;
	css = (u64)BPF_CORE_READ(bio, bi_blkg, blkcg);
	if (css && bpf_map_update_elem(&held_back, &css, &now, BPF_ANY))
		COUNT(follow_full);
}

/* A thread that holds a tag issues the request. */
ALWAYS void thread_issues(struct thread *t, struct request *rq, u64 *now)
{
	u32 i = t->n_issued++ & (REQUESTS_KEPT - 1);

	t->has_issued = 1;
	/* A tag was free after all, or it has slept for it; from here on it waits for its own request. */
	if (RARELY(t->hint) && (t->hint == ABI_CAUSE_TAG_WAIT || t->hint_lasts))
		t->hint = 0;
	t->last_dev = request_dev(rq);
	t->issued[i].request = (u64)rq;
	t->issued[i].ns = clock_once(now);
	t->issued[i].dev = t->last_dev;
}

/* NULL: one that serves others, or that is not followed. */
ALWAYS struct thread *issuer_of(struct task_struct *current)
{
	return serves_others(current) ? NULL : thread_find(current);
}

/* A request starts: remember who issues it. */
ALWAYS void request_started(struct request *rq, struct task_struct *current, struct thread *t, u64 *now)
{
	struct request_info info = {};

	if (!serves_others(current)) {
		if (t && may_hold_tag(t))
			thread_issues(t, rq, now);
		return;
	}
	info.issued_ns = clock_once(now);
	info.bio = (u64)rq->bio;
	info.cause = dispatches_throttled(current) ? ABI_CAUSE_THROTTLE : 0;
	info.helper = is_helper(current) ? current->tgid : 0;
	if (info.cause)
		note_held_back(rq);
	if (info.helper || info.cause)
		request_note(rq, &info);
}

SEC("tp_btf/block_io_start")
int BPF_PROG(on_io_start, struct request *rq)
{
	struct owner *owner = owner_told(rq);
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *t = issuer_of(current);
	u64 now = 0;

	request_started(rq, current, t, &now);
	request_owned(owner, rq, current, t, &now);
	return 0;
}

/* Kernels before 6.5 have no block_io_start. There a request may be handed to the I/O scheduler by its thread, and issued by another. */
SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_rq_insert, struct request *rq)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *t = issuer_of(current);
	u64 now = 0;

	request_queued(rq, current, t);
	request_started(rq, current, t, &now);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_rq_issue, struct request *rq)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct request_info *known = request_known(rq);
	u32 befell = known ? known->cause : 0; /* while it was prepared */
	struct thread *t = issuer_of(current);
	u64 now = 0;

	if (request_queued(rq, current, t))
		request_started(rq, current, t, &now);
	if (befell)
		request_befalls(rq, befell, 0);
	return 0;
}

SEC("tp_btf/block_rq_merge")
int BPF_PROG(on_rq_merged, struct request *rq)
{
	u64 key = (u64)rq;

	request_merged(rq);
	if (any_requests)
		bpf_map_delete_elem(&requests, &key); /* it does not complete */
	return 0;
}

/* What those bear who wait for the request's tag. That there are too few is a stall of its own, whatever it took to prepare the request,
 * unless the device let it wait. */
ALWAYS u32 cause_of_freed(struct request *rq, u32 cause)
{
	return rq->end_io || cause >= ABI_CAUSE_NVME_TIMEOUT ? cause : ABI_CAUSE_TAG_WAIT;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_rq_complete, struct request *rq, int status, unsigned int bytes)
{
	u64 key = (u64)rq;
	struct owner *owner = owner_told(rq);
	struct task_struct *current = bpf_get_current_task_btf();
	struct request_info *info = request_known(rq);
	struct marks *marks = marks_here();
	u32 depth = interrupt_depth(current);
	struct carried *mark;
	struct mark *here;

	if (!marks)
		return 0;
	here = mark_at(marks, depth);
	mark = &here->carried;
	mark->dev = owned_dev(owner, rq);
	mark->reset_end_ns = queue_reset_end(rq->q);
	mark->cause = request_cause(rq, info, mark->reset_end_ns);
	mark->state = info ? info->state : 0;
	mark->freed = cause_of_freed(rq, mark->cause);
	mark->since_ns = bpf_ktime_get_ns();
	mark->depth = depth;
	if (!depth) {
		here->task = (u64)current;
		here->switches = switches_of(current);
	}
	mark->ending = 0;
	mark->endless = !request_end_is_told(rq) || wakes_behind_end(rq);
	mark->hctx = (u64)rq->mq_hctx;
	mark->request = key;
	marks->any = 1;
	if (info && info->helper)
		helper_note(info->helper, mark);
	if (RARELY(mark->cause >= ABI_CAUSE_NVME_TIMEOUT)) {
		any_befallen = 1;
		bpf_map_update_elem(&befallen, &key, mark, BPF_ANY);
	}
	request_counts(owner, rq, mark->dev, bytes, bytes >= rq->__data_len, mark->since_ns);
	if (info && bytes >= rq->__data_len && !completes_again(rq))
		bpf_map_delete_elem(&requests, &key);
	return 0;
}

/* Whoever is woken from here on was not waiting for the request, but for what it frees: its tag. */
ALWAYS void mark_end(struct carried *mark)
{
	mark->cause = mark->freed;
	mark->ending = 1;
}

ALWAYS void request_done(struct request *rq)
{
	struct marks *here = marks_here();
	struct mark *mark;

	if (!here || !here->any || wakes_behind_end(rq))
		return;
	mark = mark_at(here, interrupt_depth(bpf_get_current_task_btf()));
	if (mark->carried.request == (u64)rq)
		mark_end(&mark->carried);
}

SEC("tp_btf/block_io_done")
int BPF_PROG(on_io_done, struct request *rq)
{
	request_done(rq);
	return 0;
}

/* Kernels before 6.5 have no block_io_done, and these two functions around block_rq_complete: */
SEC("fexit/blk_update_request")
int BPF_PROG(on_update_done, struct request *rq)
{
	request_done(rq);
	return 0;
}

SEC("fexit/blk_mq_end_request_batch")
int BPF_PROG(on_batch_done)
{
	struct marks *here = marks_here();

	if (here)
		mark_end(&mark_at(here, interrupt_depth(bpf_get_current_task_btf()))->carried);
	return 0;
}

/* Work that a completion (or a carrier) queues stands for the same request. What blk-throttle queues does not, even if a completion seems to
 * have queued it: that was a timer which fired meanwhile. */
SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(on_queue_work, int cpu, struct pool_workqueue *pwq, struct work_struct *work)
{
	u64 key = (u64)work, now = 0;
	struct carried *from = followed_here(bpf_get_current_task_btf(), &now);
	struct carried fresh = { .cause = ABI_CAUSE_THROTTLE };

	if (!queue_is_throttles(pwq->wq)) {
		if (!from || !from->request) {
			/* It was queued for a request before, and cancelled. */
			if (any_works && bpf_map_lookup_elem(&works, &key))
				bpf_map_delete_elem(&works, &key);
			return 0;
		}
		fresh = *from;
	}
	any_works = 1;
	if (bpf_map_update_elem(&works, &key, &fresh, BPF_ANY))
		COUNT(follow_full);
	return 0;
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(on_work_start, struct work_struct *work)
{
	struct task_struct *worker = bpf_get_current_task_btf();
	u64 key = (u64)work;
	struct carried *from = any_works ? bpf_map_lookup_elem(&works, &key) : NULL;
	struct carried fresh;

	if (!from && !carried_by(worker))
		return 0;
	if (interrupt_depth(worker))
		return 0; /* work of soft interrupts (since 6.9): whom it comes upon has nothing to do with it */
	if (!from) {
		/* What woke the kworker was for the work before. */
		carry_no_more(worker);
		return 0;
	}
	fresh = *from;
	bpf_map_delete_elem(&works, &key);
	fresh.sticky = 1;
	carry_now(worker, &fresh);
	return 0;
}

SEC("tp_btf/workqueue_execute_end")
int BPF_PROG(on_work_end, struct work_struct *work)
{
	struct task_struct *worker = bpf_get_current_task_btf();

	if (carried_by(worker) && !interrupt_depth(worker))
		carry_no_more(worker);
	return 0;
}

/* No tag of the queue, or of the scheduler, is free: the thread sleeps until one is. */
SEC("tp_btf/block_rq_tag_wait")
int BPF_PROG(on_tag_wait, struct request_queue *q, struct blk_mq_hw_ctx *hctx)
{
	struct thread *t = thread_tagged();

	hint_next_sleep(ABI_CAUSE_TAG_WAIT, disk_dev(q->disk), false);
	if (t)
		detail_of_tags(&t->detail, hctx, false);
	return 0;
}

/* Kernels before 7.2 lack that tracepoint. Whoever sleeps in here waits for a tag. */
SEC("fentry/blk_mq_get_tag")
int BPF_PROG(on_tag_get, struct blk_mq_alloc_data *data)
{
	struct thread *t = thread_tagged();

	if (!t)
		return 0;
	scope_enter(t, ctx, ABI_CAUSE_TAG_WAIT, disk_dev(data->q->disk));
	t->allocating = (u64)data;
	return 0;
}

SEC("fexit/blk_mq_get_tag")
int BPF_PROG(on_tag_got)
{
	scope_end(ABI_CAUSE_TAG_WAIT);
	return 0;
}

/* The queue is closed: its controller is being reset, or its driver changes something about it. */
SEC("fentry/__bio_queue_enter")
int BPF_PROG(on_queue_enter, struct request_queue *q)
{
	u64 reset_end = queue_reset_end(q);
	bool reset = reset_end && bpf_ktime_get_ns() - RESET_LOOK_NS < reset_end;

	scope_begin(ctx, reset ? ABI_CAUSE_NVME_RESET : ABI_CAUSE_BLOCK_IO, disk_dev(q->disk));
	return 0;
}

SEC("fexit/__bio_queue_enter")
int BPF_PROG(on_queue_entered)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	if (t && !scope_leave(t, ABI_CAUSE_NVME_RESET))
		scope_leave(t, ABI_CAUSE_BLOCK_IO);
	return 0;
}

/* The cgroup has had its share of the disk: io.latency's waiters are woken by a completion, of whosever request, io.cost's by a timer. */
ALWAYS void bio_held_back(const void *ctx, struct bio *bio)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	if (t)
		scope_enter(t, ctx, ABI_CAUSE_THROTTLE, disk_dev_at(BPF_CORE_READ(bio, bi_bdev, bd_disk)));
}

/* Before the thread goes on to user space it waits for what its requests have been ahead of their turn (a file system's metadata, swap): the
 * disk's. NULL: it owes nothing. */
ALWAYS struct gendisk *disk_owed(struct task_struct *current)
{
	struct task_struct___before_6_3 *old = (void *)current;

	if (HAS_FIELD(current, throttle_disk))
		return BPF_CORE_READ(current, throttle_disk);
	return HAS_FIELD(old, throttle_queue) ? BPF_CORE_READ(old, throttle_queue, disk) : NULL;
}

ALWAYS void turn_begins(const void *ctx)
{
	struct gendisk *disk = disk_owed(bpf_get_current_task_btf());

	if (disk)
		scope_begin(ctx, ABI_CAUSE_THROTTLE, disk_dev_at(disk));
}

ON_CALL(io_owed, blkcg_maybe_throttle_current, turn_begins(ctx), scope_end(ABI_CAUSE_THROTTLE))
ON_CALL(io_latency, blkcg_iolatency_throttle, bio_held_back(ctx, (struct bio *)ctx[1]),
        scope_end(ABI_CAUSE_THROTTLE))
ON_CALL(io_cost, ioc_rqos_throttle, bio_held_back(ctx, (struct bio *)ctx[1]), scope_end(ABI_CAUSE_THROTTLE))
