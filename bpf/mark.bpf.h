/* The completion that a CPU is in (a mark): who is woken meanwhile waited for its request. What a timer wakes that fires in the midst did
 * not, as it runs deeper in interrupts. A completion outside of interrupts, by a thread of the driver's, is over when that thread leaves
 * the CPU. */
#ifndef STALLPROF_MARK_BPF_H
#define STALLPROF_MARK_BPF_H

#include "bpf/fault.bpf.h"
#include "bpf/found.bpf.h"

/* A completion lasts microseconds. The mark must not outlive it, even if its end is not seen. */
#define MARK_LASTS_NS 500000
/* After its end what was freed is handed on: so long after its begin. So long lasts one that has no end, as the queue keeps no statistics. */
#define MARK_AFTER_NS 50000

struct mark {
	struct carried carried;
	/* The current task then, and its switches_of(); set only if the depth is 0. */
	u64 task, switches;
};

/* What a CPU is in: an interrupt comes upon what is at a level below its own, and that goes on when it is over. */
enum level { LEVEL_TASK, LEVEL_SOFT, LEVEL_HARD, LEVEL_UNUSED, LEVELS }; /* LEVELS bounds as a mask */

struct marks {
	u64 any; /* not 0: one of them is set */
	struct mark at[LEVELS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct marks);
} marks SEC(".maps") __weak;

/* This CPU's preemption count, 0 where that is not known. */
ALWAYS u32 preemption_count(struct task_struct *current)
{
	return cpu_variable(current, preempt_count_from_rq);
}

/* The interrupts that this CPU is in, as bits that only compare. */
ALWAYS u32 interrupt_depth(struct task_struct *current)
{
	return preemption_count(current) & interrupt_bits;
}

/* Without a branch: the verifier would walk through all that follows for each. */
ALWAYS u32 level_of(u32 depth)
{
	u32 above = depth & ~SOFT_INTERRUPT, hard = (above | -above) >> 31, soft = depth / SOFT_INTERRUPT & 1;

	return (hard * LEVEL_HARD | (soft & ~hard)) & (LEVELS - 1);
}

/* How often the task has left a CPU: while that stands, it is on the same one, and nobody else was there. */
ALWAYS u64 switches_of(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

ALWAYS struct marks *marks_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&marks, &zero);
}

ALWAYS struct mark *mark_at(struct marks *here, u32 depth)
{
	u32 level = level_of(depth);

	barrier_var(level);
	return &here->at[level & (LEVELS - 1)];
}

ALWAYS void mark_ages(struct carried *mark, u64 now)
{
	if (mark->request &&
	    now - mark->since_ns >= (mark->ending || mark->endless ? MARK_AFTER_NS : MARK_LASTS_NS))
		mark->request = 0;
}

/* Forgets those that are over by now; whether any is left. */
VERIFIED_ONCE int marks_age(u64 now)
{
	struct marks *here = marks_here();
	struct carried *task, *soft, *hard;

	if (!here)
		return 0;
	task = &here->at[LEVEL_TASK].carried;
	soft = &here->at[LEVEL_SOFT].carried;
	hard = &here->at[LEVEL_HARD].carried;
	mark_ages(task, now);
	mark_ages(soft, now);
	mark_ages(hard, now);
	here->any = task->request | soft->request | hard->request;
	return here->any != 0;
}

/* The time, looked at once, and only where it is wanted: that takes as long as all else of a hook. `now` is 0 before. */
ALWAYS u64 clock_once(u64 *now)
{
	if (!*now)
		*now = bpf_ktime_get_ns();
	return *now;
}

/* The completion that this CPU is in, NULL when it is in none. `after`: or has just left. */
ALWAYS struct carried *mark_valid(struct task_struct *current, bool after, u64 *now)
{
	struct marks *here = marks_here();
	struct mark *mark;
	u32 depth;

	if (!here || !here->any || !marks_age(clock_once(now)))
		return NULL;
	depth = interrupt_depth(current);
	mark = mark_at(here, depth);
	if (!mark->carried.request || mark->carried.ending != after || mark->carried.depth != depth)
		return NULL;
	if (!mark->carried.depth && (mark->task != (u64)current || mark->switches != switches_of(current)))
		return NULL; /* its thread has left the CPU since */
	return &mark->carried;
}

#endif
