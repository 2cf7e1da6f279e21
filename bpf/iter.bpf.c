/* The walk over all threads: user space reads this iterator to adopt processes that are already there, and
 * to close every interval at the end of a window. */
#include "bpf/context.bpf.h"
#include "bpf/wait.bpf.h"

/* The thread waits already: remote.bpf.c copies its stack, for which it takes a slot here. */
ALWAYS void reserve_slot(struct task_struct *task, struct thread *t)
{
	u32 index;

	t->slept = 1;
	t->expect = expectation_of(task, t, task->__state);
	if (!t->expect || bpf_map_pop_elem(&free_slots, &index))
		return;
	t->stack_flags = ABI_NO_USER_COPY;
	t->stack_len = 0;
	t->stack_slot = index;
}

ALWAYS void adopt(struct task_struct *task, struct abi_process *process, u64 now)
{
	u32 state = task_state_now(task);
	bool known = thread_find(task) != NULL;
	struct thread *t = thread_find_or_create(task, now, state);

	if (!t)
		return;
	if (!known)
		t->adopted = 1;
	t->watches_context = process->stalltag.kind || process->otel.kind;
	if (process->base_tag)
		t->base_tag = process->base_tag;
	thread_retag(task, t);
	if (!known && state == ABI_SLEEP)
		reserve_slot(task, t);
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

/* The part of a sleep that lies in this window: to its row, with its sample. */
ALWAYS void flush_sleep(struct task_struct *task, struct thread *t, u64 word, u64 end, u32 cause, u32 dev)
{
	u64 ns = since(end, word_begin(word)), tag = slot_of_word(t, word)->tag;

	if (!cause) {
		ledger_charge(t, tag, ABI_SLEEP, ns, 1);
		return;
	}
	ledger_add_stall(t, tag, cause, dev, ns, 1);
	if (wait_kept(ns))
		wait_sample(task, t, ABI_EVENT_INFLIGHT, cause, dev, ns, end);
}

/* A thread that is not on a CPU: asleep until now, or until it was woken; from then on it waits for one. */
ALWAYS void flush_sleeper(struct task_struct *task, struct thread *t, u64 word, u64 now)
{
	u64 wake = t->wake_ns, tag = slot_of_word(t, word)->tag;

	if (__sync_val_compare_and_swap(&t->word, word, word_of(now, word_slot(word))) != word)
		return;
	if (!t->slept) {
		ledger_charge(t, tag, ABI_RUNQ, now - word_begin(word), 0);
	} else if (wake > word_begin(word) && wake < now) {
		/* Woken, and not run yet: its sleep is settled here for good. */
		t->slept = 0;
		flush_sleep(task, t, word, wake, t->wait_cause, t->wait_dev);
		ledger_charge(t, tag, ABI_RUNQ, now - wake, 0);
	} else {
		flush_sleep(task, t, word, now, inflight_cause(task, t), t->last_dev);
	}
}

ALWAYS void flush_runner(struct task_struct *task, struct thread *t, u64 word)
{
	u64 tag = slot_of_word(t, word)->tag;
	struct shares shares;

	if (!cycle_split(task, t, word, word_slot(word), &shares))
		return;
	ledger_charge(t, tag, ABI_ONCPU, shares.oncpu, 0);
	ledger_charge(t, tag, ABI_RUNQ, shares.runq, 0);
	if (!shares.asleep)
		return;
	if (t->wait_cause)
		ledger_add_stall(t, tag, t->wait_cause, t->wait_dev, shares.asleep, 1);
	else
		ledger_charge(t, tag, ABI_SLEEP, shares.asleep, 1);
}

/* Closes the thread's time at `now`. If it is switched at this very moment, it does so itself, and the next
 * window has it. */
ALWAYS void flush(struct task_struct *task, struct thread *t, u64 now)
{
	struct tag_slot *slot = thread_slot(t);
	u64 word = t->word;

	if (!slot->tag)
		return;
	held_settle(t, 0);
	if (now > word_begin(word) && t->state != ABI_DEAD) {
		if (!thread_followed(t))
			thread_rebase(task, t, task_state_now(task), now);
		else if (t->state == ABI_ONCPU)
			flush_runner(task, t, word);
		else
			flush_sleeper(task, t, word, now);
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
		thread_rebase(task, t, task_state_now(task), now);
	if (iter_mode & ABI_ITER_FLUSH)
		flush(task, t, now);
	return 0;
}
