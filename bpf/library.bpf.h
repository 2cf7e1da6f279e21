/* Calls of a driver's or communication library in which a thread waits for a GPU or for other ranks. Each is a scope (scope.bpf.h), from
 * the probe on the function's entry on.
 *
 * There is no probe on its return: for that the kernel puts an address of its own in place of the return address, which a C++ exception
 * cannot pass, a seccomp filter may refuse (a system call since Linux 6.11), and a program that changes stacks trips over; each ends the
 * program. So the calls that a thread is inside of are kept with their stack pointers, and one is dropped when it can be seen to be gone:
 *   - a later call has a stack pointer as high, or higher
 *   - the thread sleeps, or a CPU sample finds it, with a higher stack pointer
 *   - … or the return address does not stand in its place any more, which the caller's next call writes to
 *   - the probes were detached in between, or the thread has executed another program
 * A handler of a signal that sleeps on a stack of its own may so end a call that goes on; the rest of that call is blocked time. And what
 * is done deeper on the stack right after a call, with the place of its return address untouched, is taken for a part of it.
 */
#ifndef STALLPROF_LIBRARY_BPF_H
#define STALLPROF_LIBRARY_BPF_H

#include "bpf/scope.bpf.h"

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

/* They were begun while these probes were attached, or about to be. */
ALWAYS bool calls_hold(const struct thread *t)
{
	return (t->calls_since | 1) == (hot_generation | 1);
}

/* Whether its return address still stands on the stack. A word that could not be read is taken for what it was. */
ALWAYS bool call_is_alive(const struct library_call *call)
{
	u64 word;

	return bpf_probe_read_user(&word, sizeof(word), (void *)call->sp) || word == call->return_to;
}

struct calls_search {
	struct thread *t;
	u64 sp;     /* what lies below is gone */
	u64 trusts; /* … and all else goes on */
};

/* The innermost; 1 ends the loop. */
ALWAYS long call_look(u32 i, struct calls_search *s)
{
	struct library_call *call = call_innermost(s->t);

	if (!call || (call->sp >= s->sp && (s->trusts || call_is_alive(call))))
		return 1;
	call_drop(s->t, call);
	return 0;
}

LOOP_OF(call_look, struct calls_search)

/* Drops the calls whose return address lies below `sp`. */
ALWAYS void calls_drop_below(struct thread *t, u64 sp)
{
	struct calls_search s = { .t = t, .sp = sp, .trusts = 1 };

	if (RARELY(t->n_calls))
		call_look_loop(CALLS_KEPT, &s);
}

ALWAYS void calls_forget(struct thread *t)
{
	calls_drop_below(t, ~0ULL);
}

VERIFIED_ONCE int calls_look(struct thread *t, u64 sp)
{
	struct calls_search s = { .t = t };

	if (!t)
		return 0;
	s.sp = calls_hold(t) ? sp : ~0ULL;
	call_look_loop(CALLS_KEPT, &s);
	return 0;
}

/* Drops the calls that are gone. To be asked on the thread itself, with its user's stack pointer. A CPU sample, or a switch, may come in the
 * middle of call_begin(), which drops them, too. */
ALWAYS void calls_check(struct thread *t, u64 sp)
{
	if (RARELY(t->n_calls) && !*(volatile u32 *)&t->calls_changed)
		calls_look(t, sp);
}

ALWAYS void call_add(struct thread *t, u32 cause, u64 sp)
{
	u64 return_to = 0;
	u32 n;

	calls_drop_below(t, calls_hold(t) ? sp + 1 : ~0ULL);
	t->calls_since = hot_generation;
	bpf_probe_read_user(&return_to, sizeof(return_to), (void *)sp);
	n = t->n_calls;
	if (n >= CALLS_KEPT)
		return; /* the outermost decides */
	t->calls[cut_to(n, CALLS_KEPT - 1)] =
	        (struct library_call){ .sp = sp, .return_to = return_to, .cause = cause };
	t->n_calls = n + 1;
	if (cause == ABI_CAUSE_GPU_SYNC)
		any_gpu_calls = 1;
	scope_enter(t, NULL, cause, 0);
}

/* The call at `sp` begins. */
ALWAYS void call_begin(struct thread *t, u32 cause, u64 sp)
{
	*(volatile u32 *)&t->calls_changed = 1;
	barrier();
	call_add(t, cause, sp);
	barrier();
	*(volatile u32 *)&t->calls_changed = 0;
}

#endif
