/* Calls of a driver's or communication library in which a thread waits for a GPU or for other ranks. Each is a scope (scope.bpf.h),
 * from the probe on the function's entry to the one on its return.
 *
 * For the probe on the return the kernel puts an address of its own in place of the return address. An exception cannot be thrown
 * past that: the C++ runtime does not know the address and ends the program. So a function that throws has no probe on its
 * return, and none has since Linux 6.11, where such a probe is a system call in the program's place, which filters (seccomp) of containers
 * refuse: that ends the program, too. And if a function is left by longjmp, that probe never fires. So the calls that a thread is inside of are kept with
 * their stack pointers, and one is dropped when it can be seen to be gone:
 *   - a later call, or a return, has a higher stack pointer
 *   - the thread sleeps, or a CPU sample finds it, with a higher stack pointer
 *   - … or what stands in place of the return address is neither the kernel's address nor the return address
 *   - the probes were detached in between, or the thread has executed another program
 * A handler of a signal that sleeps on a stack of its own may so end a call that goes on; the rest of that call is blocked time.
 *
 * An unwinder that met the kernel's address would not know the way on, so in copies of the stack the return addresses are put back.
 */
#ifndef STALLPROF_LIBRARY_BPF_H
#define STALLPROF_LIBRARY_BPF_H

#include "bpf/scope.bpf.h"

/* The address that the kernel puts in place of a return address; 0: not known. */
ALWAYS u64 return_hook(struct task_struct *task)
{
	struct mm_struct *mm = task->mm;

	if (!mm || !HAS_FIELD(mm, uprobes_state.xol_area))
		return 0;
	return BPF_CORE_READ(mm, uprobes_state.xol_area, vaddr);
}

/* The innermost call; NULL: the thread is in none. */
ALWAYS struct library_call *call_innermost(struct thread *t)
{
	u32 n = t->n_calls;

	return n ? &t->calls[cut_to(n - 1, CALLS_KEPT - 1)] : NULL;
}

ALWAYS void call_drop(struct thread *t, const struct library_call *call)
{
	scope_leave(t, call->cause);
	t->n_calls--;
}

/* Drops the calls whose return address lies below `sp`. */
ALWAYS void calls_drop_below(struct thread *t, u64 sp)
{
	u32 i;

	for (i = 0; i < CALLS_KEPT; i++) {
		struct library_call *call = call_innermost(t);

		if (!call || call->sp >= sp)
			return;
		call_drop(t, call);
	}
}

/* They were begun while these probes were attached, or about to be. */
ALWAYS bool calls_hold(const struct thread *t)
{
	return (t->calls_since | 1) == (hot_generation | 1);
}

ALWAYS void calls_forget(struct thread *t)
{
	if (RARELY(t->n_calls))
		calls_drop_below(t, ~0ULL);
}

/* Whether its return address still stands on the stack. A word that could not be read is taken for what it was. */
ALWAYS bool call_is_alive(struct task_struct *task, const struct library_call *call)
{
	u64 word, hook;

	if (bpf_probe_read_user(&word, sizeof(word), (void *)call->sp) || word == call->return_to)
		return true;
	hook = return_hook(task);
	return hook ? word == hook : call->has_return;
}

NOW_AND_THEN void calls_look(struct task_struct *task, struct thread *t, u64 sp)
{
	u32 i;

	calls_drop_below(t, calls_hold(t) ? sp : ~0ULL);
	for (i = 0; i < CALLS_KEPT; i++) {
		struct library_call *call = call_innermost(t);

		if (!call || call_is_alive(task, call))
			return;
		call_drop(t, call);
	}
}

/* Drops the calls that are gone. To be asked on the thread itself, with its user's stack pointer. */
ALWAYS void calls_check(struct task_struct *task, struct thread *t, u64 sp)
{
	if (RARELY(t->n_calls))
		calls_look(task, t, sp);
}

/* The call at `sp` begins. A function that ends by jumping to another of ours leaves its own return address to that one. */
ALWAYS void call_begin(struct task_struct *task, struct thread *t, u32 cause, bool has_return, u64 sp)
{
	struct library_call *outer;
	u64 return_to = 0;
	u32 n;

	calls_drop_below(t, calls_hold(t) ? sp : ~0ULL);
	t->calls_since = hot_generation;
	bpf_probe_read_user(&return_to, sizeof(return_to), (void *)sp);
	outer = call_innermost(t);
	if (outer && outer->sp == sp) {
		if (return_to && return_to == return_hook(task))
			return_to = outer->return_to;
		else
			calls_drop_below(t, sp + 1);
	}
	n = t->n_calls;
	if (n >= CALLS_KEPT)
		return; /* the outermost decides */
	t->calls[cut_to(n, CALLS_KEPT - 1)] = (struct library_call){
		.sp = sp, .return_to = return_to, .cause = cause, .has_return = has_return
	};
	t->n_calls = n + 1;
	scope_enter(t, NULL, cause, 0);
}

/* Puts the return addresses back into the copy of the user stack from `sp` on. */
NOW_AND_THEN void calls_put_back(struct thread *t, struct stack_buffer *buffer, u64 sp, u32 len)
{
	u32 i;

	for (i = 0; i < CALLS_KEPT; i++) {
		u64 at = t->calls[i].sp - sp;

		if (i >= t->n_calls)
			return;
		if (at > ABI_USTACK_MAX - sizeof(u64) || at + sizeof(u64) > len || at % sizeof(u64))
			continue;
		at = cut_to(at, ABI_USTACK_MAX - sizeof(u64));
		*(u64 *)&buffer->ustack[at] = t->calls[i].return_to;
	}
}

ALWAYS void calls_restore(struct thread *t, struct stack_buffer *buffer, u64 sp, u32 len)
{
	if (RARELY(t->n_calls))
		calls_put_back(t, buffer, sp, len);
}

#endif
