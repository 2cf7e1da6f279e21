/* A sleep, from its beginning to its stack.
 *
 *   begins (switch-out)   what is expected of it is noted; if it may be a stall, the user stack is copied
 *   ends (sched_waking)   by whom: that decides whether it was a stall, and which
 *   switch-in             the sample is sent: the kernel stack still stands as it slept
 *   next switch-out       its time goes to the ledger (cycle.bpf.h)
 */
#ifndef STALLPROF_WAIT_BPF_H
#define STALLPROF_WAIT_BPF_H

#include "bpf/capture.bpf.h"
#include "bpf/follow.bpf.h"

/* x86-64 system calls in which a thread sleeps interruptibly for I/O that others complete. */
#define NR_NANOSLEEP       35
#define NR_IO_GETEVENTS    208
#define NR_CLOCK_NANOSLEEP 230
#define NR_IO_PGETEVENTS   333
#define NR_IO_URING_ENTER  426

ALWAYS u32 syscall_of(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return regs ? (u32)regs->orig_ax : ~0U;
}

ALWAYS bool waits_for_io(u32 nr)
{
	return nr == NR_IO_URING_ENTER || nr == NR_IO_GETEVENTS || nr == NR_IO_PGETEVENTS;
}

ALWAYS u32 expectation_of(struct task_struct *task, struct thread *t, u32 state)
{
	u32 nr;

	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return EXPECT_IOWAIT;
	if (state & TASK_UNINTERRUPTIBLE && !(state & TASK_NOLOAD))
		return EXPECT_UNINTERRUPTIBLE;
	nr = syscall_of(task);
	if (waits_for_io(nr) || nr + 1 == t->learned_syscall)
		return EXPECT_SYSCALL;
	return EXPECT_NOTHING;
}

ALWAYS void wait_begin(struct task_struct *task, struct thread *t, u32 state)
{
	t->wait_seq++;
	t->wake_ns = 0;
	t->wait_cause = 0;
	t->wait_dev = 0;
	t->expect = expectation_of(task, t, state);
	if (t->expect != EXPECT_IOWAIT)
		t->hint = 0; /* what was announced did not come to a sleep: this is another */
	if (t->expect && t->stack_slot == ABI_NO_SLOT)
		capture_sleep(task, t);
}

/* The cause of a sleep that `from` ended (NULL: nobody followed), 0 if it was no stall. */
ALWAYS u32 wait_cause(struct task_struct *task, struct thread *t, const struct carried *from, u32 *dev)
{
	u32 cause = t->hint, nr;

	*dev = 0;
	if (from) {
		if (!t->expect) {
			nr = syscall_of(task);
			if (nr == NR_NANOSLEEP || nr == NR_CLOCK_NANOSLEEP)
				return 0; /* a timer that fired while a request completed */
			t->learned_syscall = nr + 1;
		}
		*dev = from->dev;
		t->last_dev = from->dev;
		return from->cause > cause ? from->cause : cause;
	}
	if (cause || t->expect == EXPECT_IOWAIT) {
		if (!*dev)
			COUNT(device_unknown);
		return cause ? cause : ABI_CAUSE_BLOCK_IO;
	}
	return 0;
}

/* The sleep ends, by what `from` stands for. When that was is worth a look at the clock only for a stall. */
ALWAYS void wait_end(struct task_struct *task, struct thread *t, const struct carried *from)
{
	u32 cause, dev = 0;

	if (t->state != ABI_SLEEP || t->wake_ns)
		return;
	if (!from && !t->expect) {
		t->wake_ns = 1;
		return;
	}
	cause = wait_cause(task, t, from, &dev);
	t->wait_cause = cause;
	t->wait_dev = dev;
	t->hint = 0;
	t->wake_ns = bpf_ktime_get_ns();
}

/* Fills and sends the sample of a stall of `ns` that ended, or was cut by a window's end, at `end_ns`. The
 * stack copy is read out of its slot: who calls from another CPU passes a scratch slot to copy it to, because
 * the thread may wake and give its slot away. */
ALWAYS void wait_sample(struct task_struct *task, struct thread *t, u32 kind, u32 cause, u32 dev, u64 ns,
                        u64 end_ns)
{
	u32 len = 0, flags = ABI_NO_USER_COPY, seq = t->wait_seq;
	struct stack_slot *slot = slot_scratch(), *copy = NULL;
	struct abi_event *event;
	struct pt_regs *regs;
	void *ledger = ledger_now();

	if (!slot || !ledger)
		return;
	event = &slot->event;
	if (t->stack_slot != ABI_NO_SLOT)
		copy = slot_at(t->stack_slot);
	if (copy) {
		len = t->stack_len;
		flags = t->stack_flags;
		event->regs = copy->event.regs;
	} else {
		regs = (struct pt_regs *)bpf_task_pt_regs(task);
		if (regs)
			regs_from(&event->regs, regs);
		COUNT(stacks_not_copied);
	}
	if (copy && kind == ABI_EVENT_WAIT)
		slot = copy; /* the thread is being switched in: nobody else has the slot */
	else if (copy)
		bpf_probe_read_kernel(slot->ustack, cut_to(len, ABI_USTACK_MAX), copy->ustack);
	event = &slot->event;
	event_head(event, task, t, kind, thread_slot(t)->tag);
	event->flags = flags;
	event->time_ns = end_ns;
	event->duration_ns = ns;
	event->weight_ns = wait_weight(ns);
	event->dev = dev;
	event->state = ABI_STALL;
	event->cause = cause;
	event->window = ledger_window(ledger);
	kernel_stack_of(task, event);
	if (t->wait_seq == seq)
		event_send(slot, len);
}

#endif
