/* The walk over all threads: user space reads this iterator to adopt processes that are already there, and
 * to close every interval at the end of a window. */
#include "bpf/context.bpf.h"
#include "bpf/wait.bpf.h"

ALWAYS void adopt(struct task_struct *task, struct abi_process *process, u64 now)
{
	u32 state = task_state_now(task);
	struct thread *t = thread_find_or_create(task, now, state);

	if (!t)
		return;
	t->watches_context = process->stalltag.kind || process->otel.kind;
	if (iter_mode & ABI_ITER_UNTAG)
		t->base_tag = 0;
	else if (process->base_tag)
		t->base_tag = process->base_tag;
	thread_retag(t);
}

/* What a sleep that has not ended yet counts as, so far. */
ALWAYS u32 inflight_cause(struct task_struct *task, struct thread *t)
{
	if (t->hint)
		return t->hint;
	if (t->expect == EXPECT_IOWAIT || BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait))
		return ABI_CAUSE_BLOCK_IO;
	return ABI_CAUSE_NONE;
}

/* Sends the part of the sleep that lies in this window. The copy of the stack is copied once more, because
 * the thread may be woken meanwhile and give its slot to another. */
ALWAYS void sleep_sample(struct task_struct *task, struct thread *t, u64 tag, u64 ns, u64 now, u32 cause,
                         u64 window)
{
	struct stack_slot *scratch = slot_scratch(), *slot = NULL;
	u32 len = 0, flags = ABI_NO_USER_COPY, seq = t->wait_seq;
	struct abi_event *event;

	if (!scratch)
		return;
	event = &scratch->event;
	if (t->stack_slot != ABI_NO_SLOT)
		slot = slot_at(t->stack_slot);
	if (slot) {
		len = t->stack_len;
		flags = t->stack_flags;
		if (len > ABI_USTACK_MAX)
			return;
		event->regs = slot->event.regs;
		if (len)
			bpf_probe_read_kernel(scratch->ustack, len, slot->ustack);
	} else {
		struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

		if (regs)
			regs_from(&event->regs, regs);
	}
	event_head(event, task, t, ABI_EVENT_INFLIGHT, tag);
	event->flags = flags;
	event->time_ns = now;
	event->duration_ns = ns;
	event->weight_ns = wait_weight(ns);
	event->dev = t->last_dev;
	event->state = ABI_STALL;
	event->cause = cause;
	event->window = window;
	kernel_stack_of(task, event);
	if (word_state(t->word) == ABI_SLEEP && t->wait_seq == seq)
		event_send(scratch, len);
}

ALWAYS void flush_sleep(struct task_struct *task, struct thread *t, u64 ns, u64 now)
{
	struct tag_slot *slot = thread_slot(t);
	u32 cause = inflight_cause(task, t);
	struct abi_ledger_key key;
	void *ledger = ledger_now();

	if (!ledger || !slot->tag)
		return;
	if (!cause) {
		slot_charge(slot, ABI_SLEEP, ns);
		return;
	}
	key_of(&key, t, slot->tag, ABI_STALL);
	key.cause = cause;
	key.dev = t->last_dev;
	key.below_min = ns < min_duration_ns;
	ledger_add(ledger, &key, ns, 1);
	if (wait_kept(ns))
		sleep_sample(task, t, slot->tag, ns, now, cause, ledger_window(ledger));
}

/* Closes the interval at `now` unless the thread does so itself at this moment: then there is nothing to
 * close, and the next window has it. */
ALWAYS void flush(struct task_struct *task, struct thread *t, u64 now)
{
	struct tag_slot *slot = thread_slot(t);
	u64 word = t->word, ns;
	u32 state = word_state(word);

	if (!slot->tag)
		return;
	if (iter_mode & ABI_ITER_FINAL)
		wait_settle(task, t);
	if (now > word_since(word) && state != ABI_DEAD &&
	    __sync_val_compare_and_swap(&t->word, word, word_of(now, state)) == word) {
		ns = now - word_since(word);
		if (!thread_followed(t))
			slot_charge(slot, ABI_UNOBSERVED, ns);
		else if (state == ABI_SLEEP)
			flush_sleep(task, t, ns, now);
		else
			slot_charge(slot, state, ns);
	}
	slot_flush(t, slot);
}

SEC("iter/task")
int on_iter_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u64 now = bpf_ktime_get_ns();
	struct abi_process *process;
	struct thread *t;
	u32 tgid;

	if (!task || (task->flags & PF_KTHREAD))
		return 0;
	if (iter_mode & ABI_ITER_ADOPT) {
		tgid = task->tgid;
		process = bpf_map_lookup_elem(&processes, &tgid);
		if (process)
			adopt(task, process, now);
	}
	t = thread_find(task);
	if (!t)
		return 0;
	if (iter_mode & ABI_ITER_REBASE)
		thread_rebase(t, task_state_now(task), now);
	if (iter_mode & ABI_ITER_FLUSH)
		flush(task, t, now);
	return 0;
}
