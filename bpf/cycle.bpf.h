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
 * A tag may change in mid-cycle, on the CPU. What lies before is settled then, by the hook's clock; the part
 * that was slept is held back until the switch-out tells what the CPU clock really says (see cycle_split).
 *
 * The word: begin_ns << 4 | slot << 3 | state. It changes in one step, so that every nanosecond is settled
 * once, whoever does it: the thread's own switch, its tag change, or the end of a window on another CPU.
 */
#ifndef STALLPROF_CYCLE_BPF_H
#define STALLPROF_CYCLE_BPF_H

#include "bpf/ledger.bpf.h"

#define WORD_SLOT 8

ALWAYS u64 word_of(u64 begin_ns, u32 slot, u32 state)
{
	return begin_ns << 4 | (slot & 1) << 3 | state;
}

ALWAYS u32 word_state(u64 word)
{
	return word & 7;
}

ALWAYS u32 word_slot(u64 word)
{
	return word >> 3 & 1;
}

ALWAYS u64 word_begin(u64 word)
{
	return word >> 4;
}

ALWAYS struct tag_slot *slot_of_word(struct thread *t, u64 word)
{
	return &t->slot[word_slot(word)];
}

ALWAYS struct tag_slot *thread_slot(struct thread *t)
{
	return slot_of_word(t, t->word);
}

ALWAYS u64 since(u64 now, u64 then)
{
	return now > then ? now - then : 0;
}

ALWAYS u64 at_most(u64 a, u64 b)
{
	return a < b ? a : b;
}

ALWAYS bool hot_attached(void)
{
	return hot_generation & 1;
}

/* Whether the thread has been followed without a gap. */
ALWAYS bool thread_followed(const struct thread *t)
{
	return hot_attached() && t->hot_generation == hot_generation;
}

ALWAYS u64 cpu_clock(struct task_struct *task)
{
	return task->se.sum_exec_runtime;
}

ALWAYS u64 queue_clock(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}

/* From here on the clocks count. `exact`: the CPU clock is up to date, as it is at a switch-out. */
ALWAYS void cycle_mark(struct task_struct *task, struct thread *t, bool exact)
{
	t->exec_mark = cpu_clock(task);
	t->exec_known = exact;
	t->queue_mark = queue_clock(task);
}

/* Charges a sleep, or a part of one: a stall to its row, anything else to the slot. */
ALWAYS void charge_sleep(struct thread *t, struct tag_slot *slot, u32 cause, u32 dev, u64 ns, u64 count)
{
	if (cause)
		ledger_add_stall(t, slot->tag, cause, dev, ns, count);
	else
		slot_time_add(&slot->blocked, ns, count);
}

/* The sleep that a split held back: `early` of it was on the CPU after all. */
ALWAYS void held_settle(struct thread *t, u64 early)
{
	u64 held = __sync_lock_test_and_set(&t->held_ns, 0);
	struct abi_ledger_key key;
	void *ledger;

	if (!held || !t->held_tag)
		return;
	early = at_most(early, held);
	ledger = ledger_now();
	if (!ledger)
		return;
	key_of(&key, t, t->held_tag, ABI_ONCPU);
	if (early)
		ledger_add(ledger, &key, early, 0);
	if (t->held_cause) {
		ledger_add_stall(t, t->held_tag, t->held_cause, t->held_dev, held - early, 1);
		return;
	}
	key.state = ABI_SLEEP;
	ledger_add(ledger, &key, held - early, 1);
}

/* Ends the cycle of a thread that is switched out; the word has been changed already, from `word`. */
ALWAYS void cycle_settle(struct task_struct *task, struct thread *t, u64 word, u64 now)
{
	struct tag_slot *slot = slot_of_word(t, word);
	u64 begin = word_begin(word), length = since(now, begin), exec, queue, oncpu, asleep;

	exec = t->exec_known ? since(cpu_clock(task), t->exec_mark) : since(now, t->in_ns);
	queue = since(queue_clock(task), t->queue_mark);
	oncpu = at_most(exec, length);
	queue = at_most(queue, length - oncpu);
	asleep = t->slept ? at_most(length - oncpu - queue, since(t->in_ns, begin)) : 0;
	if (t->held_ns)
		held_settle(t, since(exec, length));
	slot_time_add(&slot->oncpu, oncpu, 1);
	slot_time_add(&slot->runq, length - oncpu - asleep, 1);
	if (asleep)
		charge_sleep(t, slot, t->wait_cause, t->wait_dev, asleep, 1);
	t->slept = 0;
	cycle_mark(task, t, true);
}

/* Ends the part of a cycle that lies before now, for a thread on a CPU: a tag changes, or a window ends. The
 * new part belongs to slot `next`. May be preempted, and may run on another CPU: nothing happens (false) if
 * the thread is switched meanwhile. */
ALWAYS bool cycle_split(struct task_struct *task, struct thread *t, u64 word, u32 next, bool hold)
{
	struct tag_slot *slot = slot_of_word(t, word);
	u64 now = bpf_ktime_get_ns(), begin = word_begin(word), in = t->in_ns;
	u64 queue_clock_now = queue_clock(task), queue, asleep = 0, before;

	if (now < begin)
		now = begin;
	if (in < begin)
		in = begin;
	if (in > now)
		in = now;
	if (__sync_val_compare_and_swap(&t->word, word, word_of(now, next, word_state(word))) != word)
		return false;
	t->in_ns = now;
	t->exec_mark += now - in;
	queue = at_most(since(queue_clock_now, t->queue_mark), in - begin);
	t->queue_mark = queue_clock_now;
	before = in - begin;
	if (t->slept)
		asleep = before - queue;
	t->slept = 0;
	slot_time_add(&slot->oncpu, now - in, 1);
	slot_time_add(&slot->runq, before - asleep, 1);
	if (!asleep)
		return true;
	if (!hold || t->held_ns) {
		charge_sleep(t, slot, t->wait_cause, t->wait_dev, asleep, 1);
		return true;
	}
	t->held_tag = slot->tag;
	t->held_cause = t->wait_cause;
	t->held_dev = t->wait_dev;
	t->held_ns = asleep;
	return true;
}

#endif
