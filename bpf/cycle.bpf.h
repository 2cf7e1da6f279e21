/* Where a thread's time goes, cycle by cycle.
 *
 * A cycle runs from one switch-out to the next:
 *
 *   switch-out      wake-up      switch-in                switch-out
 *       |   asleep     |  run queue  |        on the CPU        |
 *       '- cycle begin                                         '- cycle ends: settled here
 *
 * The scheduler keeps two counts of its own: se.sum_exec_runtime, which is the thread's CPU clock, and
 * sched_info.run_delay, its time on run queues. Both stand still when the hook of the switch-out runs. So a
 * cycle of length C is split as the kernel itself would: on-CPU is the growth of the one, run queue that of
 * the other, asleep the rest. The hook's own clock would be off by what lies between the scheduler's look at
 * the clock and the hook (up to 15 us when a wake-up has just set the clock), and would count stolen time of
 * a virtual machine as on-CPU.
 *
 * C itself is measured from hook to hook. What the hook at its end was late by is taken from the next cycle, and is
 * more after a preemption by a wake-up, whose look at the clock serves for the switch, too. A cycle without a sleep has
 * nothing to give, so its run queue differs from the scheduler's by that: queue_owed carries it to the next sleep.
 *
 * A tag may change in mid-cycle, on the CPU. What lies before is settled then, by the hook's clock; the part
 * that was slept is held back until the switch-out tells what the CPU clock really says (see cycle_split).
 *
 * The word: begin_ns << 2 | the index of its sums. It changes in one step, so that every nanosecond is settled once, whoever
 * does it: the thread's own switch, its tag change, or the end of a window on another CPU.
 */
#ifndef STALLPROF_CYCLE_BPF_H
#define STALLPROF_CYCLE_BPF_H

#include "bpf/ledger.bpf.h"

/* What another tracer's programs, or ours on a cold cache, may take before a hook's look at the clock. */
#define HOOK_LATE_NS 50000
/* What a hook on a switch may be late by after a wake-up, with nobody in front of it. */
#define WAKEUP_LATE_NS 15000

ALWAYS u64 word_of(u64 begin_ns, u32 index)
{
	return begin_ns << 2 | (index & 3);
}

ALWAYS u32 word_index(u64 word)
{
	return word & 3;
}

ALWAYS u64 word_begin(u64 word)
{
	return word >> 2;
}

ALWAYS struct tag_sums *sums_of_word(struct thread *t, u64 word)
{
	return &t->sums[word_index(word)];
}

ALWAYS struct tag_sums *thread_sums(struct thread *t)
{
	return sums_of_word(t, t->word);
}

/* Whether the thread holds a tag, or has a log in which it may have noted one since that was last read. */
ALWAYS bool may_hold_tag(struct thread *t)
{
	return thread_sums(t)->tag || t->has_log;
}

/* The sums for the next tag. A program on a probe may be interrupted by one on a switch that changes the tag, too: each
 * has two elements of its own, so that neither fills the one that the other is about to go on in. */
ALWAYS u32 index_after(u32 present, bool on_probe)
{
	u32 first = on_probe ? 2 : 0;

	return first + (present == first);
}

ALWAYS bool hot_attached(void)
{
	return hot_generation & 1;
}

/* Whether the thread has been followed without a gap. */
ALWAYS bool thread_followed(const struct thread *t)
{
	u32 generation = hot_generation;

	return (generation & 1) && t->followed_since == generation;
}

ALWAYS u64 cpu_clock(struct task_struct *task)
{
	return task->se.sum_exec_runtime;
}

ALWAYS u64 queue_clock(struct task_struct *task)
{
	return HAS_FIELD(task, sched_info.run_delay) ? task->sched_info.run_delay : 0;
}

/* From here on the clocks count. `exact`: the CPU clock is up to date, as it is at a switch-out. */
ALWAYS void cycle_mark(struct task_struct *task, struct thread *t, bool exact)
{
	t->exec_mark = cpu_clock(task);
	t->exec_known = exact;
	t->queue_mark = queue_clock(task);
}

/* Whether the cycle that began at `begin` began with a sleep which is not settled yet. */
ALWAYS bool cycle_slept(const struct thread *t, u64 begin)
{
	return t->slept_begin == begin;
}

/* The clocks up to which the cycle that began at `begin` is settled. A split leaves them beside the marks, bound to
 * the begin that it made: whoever reads them for another begin knows that they are not of it. */
ALWAYS u64 exec_settled(const struct thread *t, u64 begin)
{
	return t->exec_mark + (t->split_begin == begin ? t->split_exec : 0);
}

ALWAYS u64 queue_settled(const struct thread *t, u64 begin)
{
	return t->split_begin == begin ? t->split_queue : t->queue_mark;
}

/* How long a thread has waited for a CPU since it was woken in the cycle that began at `begin`. What it has waited on the queue that
 * it is on now is as of that queue's last look at the clock, and 0 where the kernel does not tell. */
ALWAYS u64 queued_ns(struct task_struct *task, const struct thread *t, u64 begin)
{
	struct cfs_rq *cfs = HAS_FIELD(task, se.cfs_rq) ? task->se.cfs_rq : NULL;
	u64 queued = HAS_FIELD(task, sched_info.last_queued) ? task->sched_info.last_queued : 0;
	u64 before = since(queue_clock(task), queue_settled(t, begin)); /* on others, before it was moved */

	if (!cfs || !HAS_FIELD(cfs, rq) || !queued)
		return before;
	return before + since(cfs->rq->clock, queued);
}

/* Settles the sleep that a split held back. The split had the hooks' clocks only; by the CPU clock `early` of the sleep was
 * on the CPU already, or `late` of what counted as on-CPU after it was sleep still. Returns 0. */
VERIFIED_ONCE int held_settle(struct thread *t, u64 early, u64 late)
{
	u64 held;

	if (!t)
		return 0;
	held = __sync_lock_test_and_set(&t->held_ns, 0);
	if (!held)
		return 0;
	early = shorter(early, held);
	ledger_charge(t, t->held_tag, ABI_ONCPU, early - late, 0);
	ledger_charge_wait(t, t->held_tag, &t->held, held - early + late, 1, held);
	return 0;
}

/* What the sleep that has ended turned out to be. */
ALWAYS struct wait_row wait_row_of(const struct thread *t)
{
	struct wait_row row = t->row;

	if (!row.cause)
		row = (struct wait_row){ .state = ABI_SLEEP, .cause = kind_of(t) };
	return row;
}

ALWAYS bool same_row(const struct wait_row *a, const struct wait_row *b)
{
	return a->state == b->state && a->cause == b->cause && a->dev == b->dev;
}

VERIFIED_ONCE int told_move_to(struct thread *t, const struct wait_row *to)
{
	u64 ns;

	if (!t || !to || t->told_seq != t->wait_seq || same_row(&t->told, to))
		return 0;
	ns = t->told_ns;
	ledger_charge_wait(t, t->told_tag, &t->told, -ns, 0, ~0ULL);
	ledger_charge_wait(t, t->told_tag, to, ns, 0, ~0ULL);
	t->told = *to;
	return 0;
}

/* What earlier windows were told of this sleep moves to where it belongs, as is known now. */
ALWAYS void told_move(struct thread *t, const struct wait_row *to)
{
	if (t->told_ns)
		told_move_to(t, to);
}

/* The sleep has ended, and what it was for goes on: what has been told of it is so of the next sleep, too, whose end may tell something worse. */
ALWAYS void told_go_on(struct thread *t, u64 tag, const struct wait_row *row, u64 asleep)
{
	if (t->told_seq != t->wait_seq)
		t->told_ns = t->told_sent_ns = 0;
	t->told = *row;
	t->told_tag = tag;
	t->told_ns += asleep;
	t->told_seq = t->wait_seq + 1;
}

/* How much of the time from `begin` to `in`, the switch-in, the thread slept: what is left of the cycle when the
 * scheduler's own counts, of the CPU and of the run queue, are taken off. The hooks' clocks tell the same, but for what
 * runs before them at each end (another tracer's programs, say): they only bound it, as time that the hypervisor took from
 * the CPU, or an interrupt, is in neither count and would be taken for sleep. */
ALWAYS u64 cycle_asleep(u64 by_scheduler, u64 by_hooks)
{
	return by_scheduler < by_hooks + HOOK_LATE_NS ? by_scheduler : by_hooks;
}

ALWAYS void splits_forget(struct thread *t)
{
	if (t->first_split.tag)
		t->first_split = t->longest_split = (struct split_part){};
}

/* A split from which time was stolen is at least as long as that, and so most often the longest. */
ALWAYS void splits_note(struct thread *t, u64 tag, u64 oncpu)
{
	if (!tag)
		return; /* nobody's time */
	if (!t->first_split.tag)
		t->first_split.tag = tag;
	if (t->first_split.tag == tag)
		t->first_split.oncpu += oncpu;
	else if (oncpu > t->longest_split.oncpu)
		t->longest_split = (struct split_part){ .tag = tag, .oncpu = oncpu };
}

/* Takes what was stolen off the on-CPU time of a split. Returns what is left of it. */
ALWAYS u64 split_take(struct thread *t, struct split_part *part, u64 stolen)
{
	u64 ns = shorter(stolen, part->oncpu);

	ledger_charge(t, part->tag, ABI_ONCPU, -ns, 0);
	ledger_charge(t, part->tag, ABI_RUNQ, ns, 0);
	part->oncpu -= ns;
	return stolen - ns;
}

/* The splits of the cycle that ends went by the hooks' clocks; now the CPU clock tells. `settled` is what they took for on-CPU,
 * if that was more: the difference was stolen from the CPU, and is told as run queue. Returns 0. */
VERIFIED_ONCE int splits_correct(struct thread *t, u64 settled, u64 exec)
{
	u64 stolen = since(settled, exec);

	if (!t || !stolen)
		return 0;
	stolen = split_take(t, &t->longest_split, stolen);
	if (stolen)
		split_take(t, &t->first_split, stolen);
	return 0;
}

/* Settles the held sleep at the end of the cycle. Returns what of the time after the split is on-CPU, though the CPU clock has
 * it not: as much of the first split's on-CPU time was sleep, as the hook on the switch-in was early. More was stolen. */
ALWAYS u64 held_finish(struct thread *t, u64 early, u64 unaccounted)
{
	u64 late = unaccounted < HOOK_LATE_NS ? shorter(unaccounted, t->first_split.oncpu) : 0;

	held_settle(t, early, late);
	return late;
}

/* What is left of `waited` when `charged` of it is. Much too much charged: stolen from the CPU, which nobody owes. */
ALWAYS s64 queue_owed(u64 waited, u64 charged)
{
	s64 owed = (s64)(waited - charged);

	return owed < HOOK_LATE_NS && owed > -WAKEUP_LATE_NS ? owed : 0;
}

/* The scheduler's count of the run queue, no more than lies between the wake and the switch-in, where the former was seen: since
 * 6.12 Linux counts some sleeps, too, seconds at a time, when a thread that it has put off dequeuing is moved to another CPU. */
ALWAYS u64 queue_after_wake(const struct thread *t, u64 waited, u64 begin, u64 in)
{
	if (t->wake_ns == WOKEN || t->wake_ns <= begin)
		return waited;
	return shorter(waited, since(in, t->wake_ns) + HOOK_LATE_NS);
}

/* Ends the cycle of a thread that is switched out; the word has been changed already, from `word`. */
ALWAYS void cycle_settle(struct task_struct *task, struct thread *t, u64 word, u64 now)
{
	struct tag_sums *sums = sums_of_word(t, word);
	u64 begin = word_begin(word), length = since(now, begin), exec, queue, oncpu, asleep = 0;
	u64 in = begin + since(t->in_ns, begin);
	u64 waited = since(queue_clock(task), queue_settled(t, begin));
	struct wait_row row;

	exec = t->exec_known ? since(cpu_clock(task), exec_settled(t, begin)) : since(now, in);
	if (t->first_split.tag && t->exec_known)
		splits_correct(t, exec_settled(t, begin), cpu_clock(task));
	oncpu = shorter(exec, length);
	waited = above_zero(waited + t->queue_owed);
	queue = length - oncpu;
	if (cycle_slept(t, begin)) {
		waited = queue_after_wake(t, waited, begin, in);
		queue = shorter(waited, queue);
		asleep = cycle_asleep(length - oncpu - queue, since(in - begin, queue));
	}
	t->queue_owed = queue_owed(waited, queue);
	if (t->held_ns)
		oncpu += held_finish(t, since(exec, length), since(length, oncpu + asleep + waited));
	sums->run.oncpu += oncpu;
	sums->run.runq += length - oncpu - asleep;
	sums->run.cycles++;
	if (asleep || (t->told_ns && cycle_slept(t, begin))) {
		row = wait_row_of(t);
		if (asleep)
			sums_add_wait(t, sums, &row, asleep, since(t->in_ns, t->sleep_ns));
		told_move(t, &row);
		if (RARELY(t->goes_on))
			told_go_on(t, sums->tag, &row, asleep);
	}
	if (!t->goes_on)
		t->told_ns = 0;
	splits_forget(t);
	cycle_mark(task, t, true);
}

/* What a part of a cycle is made of. */
struct shares {
	u64 oncpu, runq, asleep;
};

/* Where a cycle is split. */
struct split {
	u64 word;  /* the thread's, before */
	u64 next;  /* the sums that the new part belongs to */
	u64 queue; /* the run-queue clock, looked at after the word */
	u64 change, end;
	struct shares
	        shares; /* what lies before `change`, which is `end` unless a part between the two belongs to others */
};

/* Ends the part of a cycle that lies before `end`, for a thread on a CPU: a tag changes, or a window ends. May be preempted, and may run
 * on another CPU: nothing happens (0) if the thread is switched meanwhile. */
VERIFIED_ONCE int cycle_split(struct thread *t, struct split *split)
{
	u64 begin, in, end, change, queued, exec;
	struct shares *shares;

	if (!t || !split)
		return 0;
	begin = word_begin(split->word);
	in = t->in_ns;
	end = split->end;
	change = split->change;
	shares = &split->shares;
	if (end < begin)
		end = begin;
	if (change > end)
		change = end;
	if (change < begin)
		change = begin;
	if (in < begin)
		in = begin;
	if (in > change)
		in = change;
	queued = since(split->queue, queue_settled(t, begin));
	if (cycle_slept(t, begin))
		queued = queue_after_wake(t, queued, begin, in);
	queued = shorter(queued, in - begin);
	exec = t->split_begin == begin ? t->split_exec : 0;
	shares->oncpu = change - in;
	shares->asleep = cycle_slept(t, begin) ? in - begin - queued : 0;
	shares->runq = in - begin - shares->asleep;
	if (__sync_val_compare_and_swap(&t->word, split->word, word_of(end, split->next)) != split->word)
		return 0;
	t->split_exec = exec + end - in;
	t->split_queue = split->queue;
	barrier();
	t->split_begin = end;
	return 1;
}

/* The thread's own split, of time under `tag`. Its sleep is held back, unless an earlier one still is. Returns 0. */
VERIFIED_ONCE int cycle_charge(struct thread *t, u64 tag, const struct shares *shares)
{
	if (!t || !shares)
		return 0;
	ledger_charge(t, tag, ABI_ONCPU, shares->oncpu, 1);
	ledger_charge(t, tag, ABI_RUNQ, shares->runq, 1);
	splits_note(t, tag, shares->oncpu);
	if (!shares->asleep)
		return 0;
	if (t->held_ns)
		held_settle(t, 0, 0);
	t->held = wait_row_of(t);
	t->held_tag = tag;
	t->held_ns = shares->asleep;
	told_move(t, &t->held);
	t->told_ns = 0;
	return 0;
}

#endif
