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
	slot_release(t);
	if (t->expect)
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

/* The sleep has ended, and no wake was seen: still the kernel said what it was. */
ALWAYS void wait_end_unseen(struct thread *t)
{
	COUNT(wakes_unseen);
	COUNT(device_unknown);
	t->wait_cause = t->hint ? t->hint : ABI_CAUSE_BLOCK_IO;
	t->wait_dev = 0;
	t->hint = 0;
}

/* What of a stall is sampled. */
struct wait_part {
	u32 kind, cause, dev;
	u64 ns, end_ns, threshold;
};

ALWAYS void wait_event(struct task_struct *task, struct thread *t, struct abi_event *event,
                       const struct wait_part *part, u64 window)
{
	event_head(event, task, t, part->kind, thread_slot(t)->tag);
	event->time_ns = part->end_ns;
	event->duration_ns = part->ns;
	event->weight_ns = wait_weight(part->ns, part->threshold);
	event->dev = part->dev;
	event->state = ABI_STALL;
	event->cause = part->cause;
	event->window = window;
	kernel_stack_of(task, event);
}

/* No copy of the user stack was made: the registers at least. */
ALWAYS void wait_event_bare(struct task_struct *task, struct stack_slot *slot)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (regs)
		regs_from(&slot->event.regs, regs);
	slot->event.flags = ABI_NO_USER_COPY;
}

/* The sample of a stall whose thread is being switched in: its slot is still its own. */
ALWAYS void wait_sample(struct task_struct *task, struct thread *t, const struct wait_part *part)
{
	struct stack_slot *slot = NULL;
	void *ledger = ledger_now();
	u32 len = 0, n_python = 0;

	if (t->stack_slot != ABI_NO_SLOT)
		slot = slot_at(t->stack_slot);
	if (slot) {
		len = t->stack_len;
		n_python = t->stack_python;
		slot->event.flags = t->stack_flags;
	} else {
		COUNT(stacks_not_copied);
		slot = slot_scratch();
		if (slot)
			wait_event_bare(task, slot);
	}
	if (!slot || !ledger)
		return;
	wait_event(task, t, &slot->event, part, ledger_window(ledger));
	event_send(slot, len, n_python);
}

/* The sample of a stall that goes on, taken from another CPU. The slot is copied, because the thread may be woken and
 * give it to another; if it was switched meanwhile, the copy is not sent. */
ALWAYS void wait_sample_inflight(struct task_struct *task, struct thread *t, const struct wait_part *part)
{
	struct stack_slot *slot = slot_at(walk_slot), *copy = NULL;
	u32 len = 0, n_python = 0, index = t->stack_slot, seq = t->wait_seq;
	void *ledger = ledger_now();

	if (!slot || !ledger)
		return;
	if (index != ABI_NO_SLOT)
		copy = slot_at(index);
	if (copy) {
		len = t->stack_len;
		n_python = t->stack_python;
		slot->event.regs = copy->event.regs;
		slot->event.flags = t->stack_flags;
		bpf_probe_read_kernel(slot->ustack,
		                      cut_to(captured_bytes(len, n_python), ABI_USTACK_MAX + PYTHON_BYTES),
		                      copy->ustack);
	} else {
		wait_event_bare(task, slot);
	}
	wait_event(task, t, &slot->event, part, ledger_window(ledger));
	if (t->wait_seq == seq && t->state == ABI_SLEEP && t->stack_slot == index)
		event_send(slot, len, n_python);
}

#endif
