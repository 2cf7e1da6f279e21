/* Hints: what tracepoints announce that the current thread is about to sleep for. A hint holds for a sleep of the kind that was announced, in
 * the same system call; wait.bpf.h asks for it when a sleep begins, and lets it go when the sleep is over.
 */
#ifndef STALLPROF_HINT_BPF_H
#define STALLPROF_HINT_BPF_H

#include "bpf/decide.bpf.h"
#include "bpf/kind.bpf.h"
#include "bpf/thread.bpf.h"

/* The sleeps of one wait for XFS's log are closer to each other, also on a host that is busy. What the next fsync of a loop sleeps for may be,
 * too: it is announced, or for a request of its own. */
#define FOLLOWS_NS 200000

/* The system call that a task is in, by its number and the user's instruction behind it: two sleeps of one call have the same. So have those
 * of a loop that makes the call again. */
ALWAYS u64 call_made(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return regs ? regs->ip ^ (u64)call_number(task, regs) << 48 : 0;
}

/* A hint for a worse cause stays, if it was given in the same call and none of its sleeps is over. */
ALWAYS void hint_sleep(u32 cause, u32 dev, bool timed, bool lasts)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *t = thread_find(current);
	u64 call;

	if (!t)
		return;
	call = call_made(current);
	if (t->hint > cause && t->hint_call == call && t->hint_lasts != HINT_HAS_LASTED)
		return;
	t->hint_call = call;
	t->hint_timed = timed;
	t->hint_lasts = lasts ? HINT_LASTS : HINT_ENDS;
	t->hint_dev = dev;
	t->hint = cause;
}

/* The thread is about to sleep for `cause`. `timed`: a timer ends that sleep, not a request. */
ALWAYS void hint_next_sleep(u32 cause, u32 dev, bool timed)
{
	hint_sleep(cause, dev, timed, false);
}

/* … and so is each sleep that follows within FOLLOWS_NS of the CPU's time, until the thread issues a request of its own or another hint
 * comes. */
ALWAYS void hint_sleeps(u32 cause, u32 dev)
{
	hint_sleep(cause, dev, false, true);
}

/* The wait that was announced for `cause` is over. A hint that is still there was for a sleep that did not come. */
ALWAYS void hint_is_over(u32 cause)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	if (t && t->hint == cause && !t->hint_lasts)
		t->hint = 0;
}

/* A sleep is over. */
ALWAYS void hint_slept(struct thread *t)
{
	if (!RARELY(t->hint))
		return;
	if (t->hint_lasts)
		t->hint_lasts = HINT_HAS_LASTED;
	else
		t->hint = 0;
}

/* What a tracepoint announced holds for a sleep in the same call, and of the kind that it announced. */
ALWAYS void hint_check(struct task_struct *task, struct thread *t, u64 now)
{
	bool may_be = t->expect == EXPECT_IOWAIT || t->expect == EXPECT_UNINTERRUPTIBLE;

	if (!RARELY(t->hint))
		return;
	if (!may_be || t->hint_call != call_made(task) ||
	    (t->hint_lasts == HINT_HAS_LASTED && since(now, t->in_ns) > FOLLOWS_NS))
		t->hint = 0;
}

#endif
