/* A sleep, from its beginning to its row and its stack.
 *
 *   begins (switch-out)   what is expected of it is noted; if it may be a stall, the user stack is copied
 *   ends (sched_waking)   by whom: that decides whether it was a stall, and which
 *   settles (switch-in)   row and sample are written, into the same window
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

	return regs ? (u32)BPF_CORE_READ(regs, orig_ax) : ~0U;
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
	if (t->hint)
		return EXPECT_SYSCALL;
	nr = syscall_of(task);
	if (waits_for_io(nr) || nr + 1 == t->learned_syscall)
		return EXPECT_SYSCALL;
	return EXPECT_NOTHING;
}

ALWAYS void wait_begin(struct task_struct *task, struct thread *t, u32 state)
{
	t->wait_seq++;
	t->expect = expectation_of(task, t, state);
	if (t->expect && t->stack_slot == ABI_NO_SLOT)
		capture_sleep(task, t);
}

/* The cause of a sleep that `from` ended (NULL: nobody followed), 0 if it was no stall. */
ALWAYS u32 wait_cause(struct task_struct *task, struct thread *t, const struct carried *from, u32 *dev)
{
	u32 cause = t->hint, nr;

	*dev = t->hint_dev;
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

ALWAYS void wait_end(struct task_struct *task, struct thread *t, const struct carried *from, u64 now)
{
	struct tag_slot *slot = thread_slot(t);
	u64 word = t->word, ns = 0;
	u32 cause, dev = 0;

	if (word_state(word) != ABI_SLEEP)
		return;
	word = thread_enter(t, ABI_RUNQ, now, &ns);
	cause = wait_cause(task, t, from, &dev);
	t->hint = 0;
	t->hint_dev = 0;
	if (!slot->tag)
		return;
	if (!thread_followed(t)) {
		slot_charge(slot, ABI_UNOBSERVED, ns);
	} else if (!cause) {
		slot_charge(slot, ABI_SLEEP, ns);
	} else {
		t->wait_cause = cause;
		t->wait_dev = dev;
		t->wait_end_ns = now;
		__sync_lock_test_and_set(&t->wait_ns, ns);
	}
}

/* Fills and sends the sample of a stall of `ns`. */
ALWAYS void wait_sample(struct task_struct *task, struct thread *t, u32 kind, u64 tag, u64 ns, u64 window)
{
	u32 len = 0, flags = ABI_NO_USER_COPY;
	struct stack_slot *slot = NULL;
	struct abi_event *event;

	if (t->stack_slot != ABI_NO_SLOT) {
		slot = slot_at(t->stack_slot);
		len = t->stack_len;
		flags = t->stack_flags;
	}
	if (!slot) {
		slot = slot_scratch();
		len = 0;
		flags = ABI_NO_USER_COPY;
		COUNT(stacks_not_copied);
	}
	if (!slot)
		return;
	event = &slot->event;
	if (flags & ABI_NO_USER_COPY) {
		struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

		if (regs)
			regs_from(&event->regs, regs);
	}
	event_head(event, task, t, kind, tag);
	event->flags = flags;
	event->time_ns = t->wait_end_ns;
	event->duration_ns = ns;
	event->weight_ns = wait_weight(ns);
	event->dev = t->wait_dev;
	event->state = ABI_STALL;
	event->cause = t->wait_cause;
	event->window = window;
	kernel_stack_of(task, event);
	event_send(slot, len);
}

/* Writes the row and, if the wait is kept, the sample of the stall that has ended. */
ALWAYS void wait_settle(struct task_struct *task, struct thread *t)
{
	u64 ns = __sync_lock_test_and_set(&t->wait_ns, 0);
	u64 tag = thread_slot(t)->tag;
	struct abi_ledger_key key;
	void *ledger;

	if (!ns || !tag)
		return;
	ledger = ledger_now();
	if (!ledger)
		return;
	key_of(&key, t, tag, ABI_STALL);
	key.cause = t->wait_cause;
	key.dev = t->wait_dev;
	key.below_min = ns < min_duration_ns;
	ledger_add(ledger, &key, ns, 1);
	if (wait_kept(ns))
		wait_sample(task, t, ABI_EVENT_WAIT, tag, ns, ledger_window(ledger));
}

#endif
