/* Scopes: what a thread is inside of, by hooks on the same thread, for waits that no request ends (a GPU's fence, a call of a driver's
 * library, a DMA map, a server's answer).
 *
 *   scope_begin(cause, dev)    at the hook in front
 *   scope_end(cause)           at the hook behind
 *
 * Each sleep of the thread in between is a stall of that cause, whoever wakes it; a request that ends the sleep, and a worse cause,
 * still have their say (wait_decide). CPU samples in between count as inside the stall, but for SCOPES_OF_WAITS. Scopes may lie in one another, also of the same
 * cause. What is left of them when a system call of the thread's
 * returns is the business of who began them: the kernel's functions always return, and user-space probes on a return are undone when
 * their frame is left by other ways (bpf/library.bpf.c says what then).
 */
#ifndef STALLPROF_SCOPE_BPF_H
#define STALLPROF_SCOPE_BPF_H

#include "bpf/thread.bpf.h"

/* Those in which a thread only waits: what it does on the CPU meanwhile, such as copying from the page cache, is its own work. */
#define SCOPES_OF_WAITS (1u << ABI_CAUSE_NFS_READ | 1u << ABI_CAUSE_NFS_WRITE)

/* The highest bit that is set, of one at least. A function of its own, so that the verifier does not go on with each bit by itself. */
__weak __noinline int highest_bit(u32 bits)
{
	u32 highest = 0, i;

	for (i = 16; i; i /= 2) {
		if (bits >> i) {
			bits >>= i;
			highest += i;
		}
	}
	return highest;
}

/* The worst cause of these scopes, a bit each; 0 none. */
ALWAYS u32 scope_worst(u32 open)
{
	return RARELY(open) ? highest_bit(open) : 0;
}

/* The worst cause that the thread is inside of, 0 none. */
ALWAYS u32 scope_cause(const struct thread *t)
{
	return scope_worst(t->scopes.open);
}

/* … that also makes its time on the CPU part of a stall. */
ALWAYS u32 scope_cause_on_cpu(const struct thread *t)
{
	return scope_worst(t->scopes.open & ~SCOPES_OF_WAITS);
}

/* `dev` 0: unknown, which leaves that of the scope around it. */
ALWAYS void scope_enter(struct thread *t, u32 cause, u32 dev, u64 now)
{
	if (cause >= SCOPE_CAUSES || t->scopes.depth[cause] == 255)
		return;
	if (!t->scopes.depth[cause]++) {
		t->scopes.begin_ns = now;
		if (dev || !t->scopes.open)
			t->scopes.dev = dev;
		t->scopes.open |= 1u << cause;
	}
}

/* Whether that was the outermost of its cause. */
ALWAYS bool scope_leave(struct thread *t, u32 cause)
{
	if (cause >= SCOPE_CAUSES || !t->scopes.depth[cause] || --t->scopes.depth[cause])
		return false;
	t->scopes.open &= ~(1u << cause);
	return true;
}

/* The current thread, if it holds a tag; else NULL. */
ALWAYS struct thread *thread_tagged(void)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	return t && thread_sums(t)->tag ? t : NULL;
}

/* Whatever tag the thread holds: it may have pushed one since that was last looked at. */
ALWAYS void scope_begin(u32 cause, u32 dev)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	if (t)
		scope_enter(t, cause, dev, 0);
}

ALWAYS void scope_end(u32 cause)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	if (t)
		scope_leave(t, cause);
}

/* Whether the thread is in a mapping call whose begin was seen (dma.bpf.c). */
ALWAYS bool mapping_goes_on(const struct thread *t)
{
	return RARELY(t->mapping.frame) && t->mapping.generation == hot_generation;
}

#endif
