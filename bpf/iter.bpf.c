/* The walk over all threads: user space reads this iterator to adopt processes that are already there, and
 * to close every interval at the end of a window. */
#include "bpf/context.bpf.h"
#include "bpf/wait.bpf.h"

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
	if (iter_mode & ABI_ITER_UNTAG)
		t->base_tag = 0;
	else if (process->base_tag)
		t->base_tag = process->base_tag;
	thread_retag(task, t);
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
	u64 ns = since(end, word_begin(word));

	charge_sleep(t, slot_of_word(t, word), cause, dev, ns, 1);
	if (cause && wait_kept(ns))
		wait_sample(task, t, ABI_EVENT_INFLIGHT, cause, dev, ns, end);
}

/* A thread that sleeps: until now, or until it was woken; from then on it waits for a CPU. */
ALWAYS void flush_sleeper(struct task_struct *task, struct thread *t, u64 word, u64 now)
{
	u64 wake = t->wake_ns;
	u32 state = word_state(word);

	if (state == ABI_SLEEP && wake > word_begin(word) && wake < now) {
		/* Woken, and not run yet: its sleep is settled here for good. */
		if (__sync_val_compare_and_swap(&t->word, word, word_of(now, word_slot(word), ABI_RUNQ)) !=
		    word)
			return;
		t->slept = 0;
		flush_sleep(task, t, word, wake, t->wait_cause, t->wait_dev);
		slot_time_add(&slot_of_word(t, word)->runq, now - wake, 1);
		return;
	}
	if (__sync_val_compare_and_swap(&t->word, word, word_of(now, word_slot(word), state)) != word)
		return;
	if (state == ABI_SLEEP)
		flush_sleep(task, t, word, now, inflight_cause(task, t), t->last_dev);
	else
		slot_time_add(&slot_of_word(t, word)->runq, now - word_begin(word), 1);
}

/* Closes the thread's time at `now`. If it is switched at this very moment, it does so itself, and the next
 * window has it. */
ALWAYS void flush(struct task_struct *task, struct thread *t, u64 now)
{
	struct tag_slot *slot = thread_slot(t);
	u64 word = t->word;
	u32 state = word_state(word);

	if (!slot->tag)
		return;
	held_settle(t, 0);
	if (now > word_begin(word) && state != ABI_DEAD) {
		if (!thread_followed(t))
			thread_rebase(task, t, state, now);
		else if (state == ABI_ONCPU)
			cycle_split(task, t, word, word_slot(word), false);
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
