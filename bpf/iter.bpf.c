/* The walk over all threads: user space reads this iterator to adopt processes that are already there, and
 * to close every interval at the end of a window. */
#include "bpf/context.bpf.h"
#include "bpf/wait.bpf.h"

/* The thread waits already: remote.bpf.c copies its stack, for which it takes a slot here. */
ALWAYS void reserve_slot(struct task_struct *task, struct thread *t)
{
	u32 index;

	t->expect = expectation_of(task, t, task->__state);
	if (t->expect && t->reserved_slot == ABI_NO_SLOT && !bpf_map_pop_elem(&free_slots, &index))
		t->reserved_slot = index;
}

/* A thread that is there already gets the tag without a turn: nothing has run up yet. */
ALWAYS void adopt_new(struct task_struct *task, struct abi_process *process, u64 now)
{
	u32 state = task_state_now(task);
	struct thread *t = thread_find_or_create(task, now, state);

	if (!t)
		return;
	t->adopted = 1;
	t->watches_context = process->stalltag.kind || process->otel.kind;
	t->base_tag = process->base_tag;
	thread_slot(t)->tag = process->base_tag;
	if (process->base_tag)
		__sync_fetch_and_add(&n_tagged, 1);
	if (state != ABI_SLEEP)
		return;
	t->slept_begin = word_begin(t->word);
	t->sleep_ns = now;
	reserve_slot(task, t);
}

ALWAYS void adopt(struct task_struct *task, struct abi_process *process, u64 now)
{
	struct thread *t = thread_find(task);

	if (!t) {
		adopt_new(task, process, now);
		return;
	}
	t->watches_context = process->stalltag.kind || process->otel.kind;
	if (process->base_tag && process->base_tag != t->base_tag) {
		t->base_tag = process->base_tag;
		t->retag = 1;
	}
}

/* What blk-throttle let go of the task's cgroup since the thread fell asleep, NULL: nothing. */
ALWAYS struct held_back *held_back_of(struct task_struct *task, struct thread *t)
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

/* What a sleep that has not ended yet counts as, so far. */
ALWAYS u32 inflight_cause(struct task_struct *task, struct thread *t, u32 *dev)
{
	struct held_back *held;

	*dev = 0;
	if (t->expect != EXPECT_IOWAIT && !BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait))
		return ABI_CAUSE_NONE;
	held = held_back_of(task, t);
	if (held) {
		*dev = held->dev;
		return ABI_CAUSE_THROTTLE;
	}
	return t->hint ? t->hint : ABI_CAUSE_BLOCK_IO;
}

/* The part of a sleep that lies in this window: to its row, with its sample. It is counted when it has `ended`. */
ALWAYS void flush_sleep(struct task_struct *task, struct thread *t, u64 word, u64 end, u32 cause, u32 dev,
                        u32 ended)
{
	u64 ns = since(end, word_begin(word)), whole = since(end, t->sleep_ns);
	struct wait_part part = { .kind = ABI_EVENT_INFLIGHT,
		                  .cause = cause,
		                  .dev = dev,
		                  .ns = ns,
		                  .end_ns = end,
		                  .threshold = threshold_ns };
	u64 tag = slot_of_word(t, word)->tag;

	if (!cause) {
		ledger_charge(t, tag, ABI_SLEEP, ns, ended);
		return;
	}
	ledger_add_stall(t, tag, cause, dev, ns, ended, whole);
	if (wait_kept(ns, whole, part.threshold))
		wait_sample_inflight(task, t, &part);
}

/* A thread that is not on a CPU: asleep until now, or until it was woken; from then on it waits for one. */
ALWAYS void flush_sleeper(struct task_struct *task, struct thread *t, u64 word, u64 now)
{
	u64 wake = t->wake_ns, tag = slot_of_word(t, word)->tag;

	bool slept = cycle_slept(t, word_begin(word));
	u32 cause, dev;

	if (__sync_val_compare_and_swap(&t->word, word, word_of(now, word_slot(word))) != word)
		return;
	if (!slept) {
		ledger_charge(t, tag, ABI_RUNQ, now - word_begin(word), 0);
	} else if (wake > word_begin(word) && wake < now) {
		/* Woken, and not run yet: its sleep is settled here for good. */
		flush_sleep(task, t, word, wake, t->wait_cause, t->wait_dev, 1);
		ledger_charge(t, tag, ABI_RUNQ, now - wake, 0);
	} else {
		t->slept_begin = now; /* it goes on in the cycle that begins here */
		cause = inflight_cause(task, t, &dev);
		flush_sleep(task, t, word, now, cause, dev, 0);
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
		ledger_add_stall(t, tag, t->wait_cause, t->wait_dev, shares.asleep, 1,
		                 since(t->in_ns, t->sleep_ns));
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
	if (!(iter_mode & ABI_ITER_ADOPT))
		return_slot(t);
	if (thread_slot(t)->tag)
		n_tagged_walk++;
	return 0;
}
