/* Waits that several threads have for one request.
 *
 * When a page is read that several threads have touched, its completion wakes one of them: each wants the page's lock. That one unlocks
 * the page, and so wakes the next, which does the same. A buffer's lock is handed on likewise.
 *
 *   block_rq_complete(R) ... sched_waking(first)       the first waited for R: that is kept with the thread
 *   first: folio_unlock()    sched_waking(second)      it waited for R, too
 *   second: folio_unlock()   sched_waking(third) ...
 *
 * A thread passes R on only in the very call, or fault, that it slept for R in, and before it sleeps again; and only to a sleep that the
 * kernel flags as one for I/O and that had begun before R was completed. So an answer that a thread sends after it has read a disk (FUSE,
 * a socket that io_uring waits for) passes nothing on. Who comes later waits for the others' turns, which is no I/O.
 */
#ifndef STALLPROF_SHARE_BPF_H
#define STALLPROF_SHARE_BPF_H

#include "bpf/follow.bpf.h"

/* What the current thread passes on to `t`, which it wakes; NULL: nothing. */
ALWAYS struct carried *passed_on(struct task_struct *current, const struct thread *t)
{
	struct pt_regs *regs;
	struct thread *waker;

	if (t->expect != EXPECT_IOWAIT || t->state != ABI_SLEEP || t->wake_ns)
		return NULL;
	waker = thread_find(current);
	if (!waker || !waker->shared.request.cause || waker->shared.seq != waker->wait_seq ||
	    waker->shared.request.since_ns <= t->sleep_ns || interrupt_depth(current))
		return NULL;
	regs = (struct pt_regs *)bpf_task_pt_regs(current);
	return regs && regs->ip == waker->shared.ip && regs->orig_ax == waker->shared.call
	               ? &waker->shared.request
	               : NULL;
}

/* The thread's sleep begins, with these registers of the user's. */
ALWAYS void share_begin(struct thread *t, const struct pt_regs *regs)
{
	if (t->expect != EXPECT_IOWAIT || !regs)
		return;
	t->shared.ip = regs->ip;
	t->shared.call = regs->orig_ax;
}

/* The thread's sleep was for `from`, which was completed then. */
ALWAYS void share(struct thread *t, const struct carried *from, u64 completed_ns)
{
	if (t->expect != EXPECT_IOWAIT)
		return;
	t->shared.request = *from;
	t->shared.request.since_ns = completed_ns;
	t->shared.seq = t->wait_seq;
}

#endif
