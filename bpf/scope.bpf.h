/* Scopes: what a thread is inside of, by hooks on the same thread, for waits that no request ends (a GPU's fence, a call of a driver's
 * library, a DMA map, a server's answer), or somebody else's (a cgroup's turn).
 *
 *   scope_begin(ctx, cause, dev)   at the hook in front
 *   scope_end(cause)               at the hook behind
 *
 * Each sleep of the thread in between is a stall of that cause, whoever wakes it; a request that ends the sleep, and a worse
 * cause, still have their say (wait_decide). CPU samples in between count as inside the stall, but for SCOPES_OF_WAITS. Scopes may
 * lie in one another, also of the same cause. One whose end was not seen is ended when it can be seen to be over: scopes_check(),
 * scope_at(), and for calls of libraries bpf/library.bpf.h.
 */
#ifndef STALLPROF_SCOPE_BPF_H
#define STALLPROF_SCOPE_BPF_H

#include "bpf/thread.bpf.h"

/* Those of functions in which a thread mostly does not wait: what it does on the CPU meanwhile, such as copying from the page cache, is its
 * own work. */
#define SCOPES_OF_WAITS                                                                                      \
	(1u << ABI_CAUSE_BLOCK_IO | 1u << ABI_CAUSE_THROTTLE | 1u << ABI_CAUSE_TAG_WAIT |                    \
	 1u << ABI_CAUSE_NVME_RESET | 1u << ABI_CAUSE_NFS_READ | 1u << ABI_CAUSE_NFS_WRITE)

/* Those in which the kernel sleeps uninterruptibly, if at all. */
#define SCOPES_UNINTERRUPTIBLE                                                                               \
	(1u << ABI_CAUSE_BLOCK_IO | 1u << ABI_CAUSE_THROTTLE | 1u << ABI_CAUSE_TAG_WAIT |                    \
	 1u << ABI_CAUSE_NVME_RESET | 1u << ABI_CAUSE_DMA_MAP)

/* The highest bit that is set, of one at least. Without a loop, each of whose rounds the verifier would go on with by itself. */
VERIFIED_ONCE int highest_bit(u32 bits)
{
	bits |= bits >> 1;
	bits |= bits >> 2;
	bits |= bits >> 4;
	bits |= bits >> 8;
	bits |= bits >> 16;
	return bits_set(bits) - 1;
}

/* The worst cause of these scopes, a bit each; 0 none. */
ALWAYS u32 scope_worst(u32 open)
{
	return RARELY(open) ? highest_bit(open) : 0;
}

/* The worst cause that the thread is inside of, 0 none. */
ALWAYS u32 scope_cause(const struct thread *t)
{
	return scope_worst(t->open_scopes);
}

/* The device of the scope of that cause, 0: none. */
ALWAYS u32 scope_dev(const struct thread *t, u32 cause)
{
	return t->scopes.dev[cause & (SCOPE_CAUSES - 1)];
}

/* … that also makes its time on the CPU part of a stall. */
ALWAYS u32 scope_cause_on_cpu(const struct thread *t)
{
	return scope_worst(t->open_scopes & ~SCOPES_OF_WAITS);
}

/* Those of calls of libraries, which know themselves when they are over (library.bpf.h). */
#define SCOPES_OF_LIBRARIES (1u << ABI_CAUSE_GPU_SYNC | 1u << ABI_CAUSE_COLLECTIVE)

/* Ends all scopes of the kernel's functions. */
VERIFIED_ONCE int scopes_forget(struct thread *t)
{
	u32 cause;

	if (!t)
		return 0;
	for (cause = 0; cause < SCOPE_CAUSES; cause++)
		if (!(SCOPES_OF_LIBRARIES >> cause & 1))
			t->scopes.depth[cause] = 0;
	__sync_fetch_and_and(&t->open_scopes, SCOPES_OF_LIBRARIES);
	t->scopes.of_fault = 0;
	return 0;
}

ALWAYS void scopes_forget_left(struct thread *t)
{
	if (RARELY(t->open_scopes & ~SCOPES_OF_LIBRARIES))
		scopes_forget(t);
}

/* The end of a scope may go unseen: the kernel leaves a program out that a thread which it has preempted is in, and the hooks are detached
 * when nothing is tagged. So what is left open of another system call of the thread's, or of one before, is ended here. To be asked
 * where a sleep begins. */
ALWAYS void scopes_check(struct thread *t, const struct pt_regs *regs)
{
	if (!RARELY(t->open_scopes & ~SCOPES_OF_LIBRARIES))
		return;
	if (t->scopes.generation != hot_generation ||
	    (regs && (regs->ip != t->scopes.user_ip || regs->sp != t->scopes.user_sp)))
		scopes_forget(t);
}

/* One begins at `frame`, where the hook's arguments lie on the kernel stack: those that are left open were begun deeper, or there, and are
 * over. */
ALWAYS void scope_at(struct thread *t, u64 frame)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

	if (t->open_scopes & ~SCOPES_OF_LIBRARIES) {
		if (frame < t->scopes.frame && t->scopes.generation == hot_generation)
			return; /* within another */
		scopes_forget(t);
	}
	t->scopes.frame = frame;
	t->scopes.generation = hot_generation;
	t->scopes.user_ip = regs ? regs->ip : 0;
	t->scopes.user_sp = regs ? regs->sp : 0;
}

/* `ctx`: the hook's arguments; NULL: a library's call. `dev` 0: unknown. */
ALWAYS void scope_enter(struct thread *t, const void *ctx, u32 cause, u32 dev)
{
	if (cause >= SCOPE_CAUSES)
		return;
	if (!(SCOPES_UNINTERRUPTIBLE >> cause & 1) && !any_interruptible_scopes)
		any_interruptible_scopes = 1;
	if (ctx)
		scope_at(t, (u64)ctx);
	if (t->scopes.depth[cause] == 255)
		return;
	if (!t->scopes.depth[cause]++) {
		t->scopes.dev[cause] = dev;
		__sync_fetch_and_or(&t->open_scopes, 1u << cause); /* a CPU sample may end one just now */
	}
}

/* Whether that was the outermost of its cause. */
ALWAYS bool scope_leave(struct thread *t, u32 cause)
{
	u32 bit;

	if (cause >= SCOPE_CAUSES || (t->scopes.depth[cause] && --t->scopes.depth[cause]))
		return false;
	bit = 1u << cause;
	if (!(t->open_scopes & bit))
		return false;
	__sync_fetch_and_and(&t->open_scopes, ~bit);
	return true;
}

/* The current thread, if it may hold a tag; else NULL. */
ALWAYS struct thread *thread_tagged(void)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	return t && may_hold_tag(t) ? t : NULL;
}

/* Whatever tag the thread holds: it may have pushed one since that was last looked at. */
ALWAYS void scope_begin(const void *ctx, u32 cause, u32 dev)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	if (t)
		scope_enter(t, ctx, cause, dev);
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

/* Two programs on a function: on_NAME_begins where it is called, on_NAME_ends where it returns. Both may use `ctx`. */
#define ON_CALL(name, function, begins, ends)                                                                \
	SEC("fentry/" #function)                                                                             \
	int BPF_PROG(on_##name##_begins)                                                                     \
	{                                                                                                    \
		begins;                                                                                      \
		return 0;                                                                                    \
	}                                                                                                    \
	SEC("fexit/" #function)                                                                              \
	int BPF_PROG(on_##name##_ends)                                                                       \
	{                                                                                                    \
		ends;                                                                                        \
		return 0;                                                                                    \
	}

#endif
