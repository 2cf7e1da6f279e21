/* What a sleep was, once what ended it is known: its cause and device. */
#ifndef STALLPROF_DECIDE_BPF_H
#define STALLPROF_DECIDE_BPF_H

#include "bpf/detail.bpf.h"
#include "bpf/follow.bpf.h"
#include "bpf/issued.bpf.h"
#include "bpf/kind.bpf.h"
#include "bpf/scope.bpf.h"

/* Whether the thread issued a request between its last two sleeps, and sleeps for I/O now: asked when the sleep is over, it may have
 * issued the next one. */
ALWAYS bool waits_for_own_request(const struct thread *t)
{
	return t->expect == EXPECT_IOWAIT && t->own_request == OWN_REQUEST_ISSUED;
}

/* What is known of the request of its own that it waited for, as nobody was followed: what a window that it lasted over has told, that
 * the controller was reset meanwhile, or what befell it when it was issued. */
NOW_AND_THEN u32 cause_of_own_request(const struct thread *t)
{
	u32 cause = t->own_cause ? t->own_cause : ABI_CAUSE_BLOCK_IO;

	if (t->told_ns && t->told_seq == t->wait_seq && t->told.state == ABI_STALL)
		cause = t->told.cause;
	else if (RARELY(request_was_faulted(last_request(t))))
		cause = ABI_CAUSE_IOMMU_FAULT;
	if (cause < ABI_CAUSE_NVME_RESET && last_was_reset(t, t->sleep_ns))
		cause = ABI_CAUSE_NVME_RESET; /* maybe only since it was told */
	return cause;
}

/* What a sleep is that the end of `from`'s request ended. The request may be younger than the sleep: what waits for a controller is
 * handed to another path, or begins anew. */
ALWAYS u32 cause_of_carried(const struct thread *t, const struct carried *from)
{
	if (RARELY(from->reset_end_ns) && from->reset_end_ns > t->sleep_ns &&
	    from->cause < ABI_CAUSE_NVME_RESET)
		return ABI_CAUSE_NVME_RESET;
	return from->cause;
}

/* What is to be learnt of a sleep that `from` ended: the number of its call + 1; 0: nothing. */
ALWAYS u32 call_to_learn(struct task_struct *task, const struct thread *t, const struct carried *from)
{
	struct pt_regs *regs = from && !t->expect ? (struct pt_regs *)bpf_task_pt_regs(task) : NULL;

	return regs ? call_number(task, regs) + 1 : 0;
}

/* The kernel flags the sleep as one for I/O, and nothing says for which. One whose beginning was not seen may have been for a
 * request all the same. */
ALWAYS void iowait_unexplained(struct thread *t)
{
	COUNT(iowaits_unexplained);
	if (t->own_request == OWN_REQUEST_UNKNOWN)
		t->kind = ABI_WAIT_UNDECIDED;
}

/* What stands for a wait for the thread's own request, which `befell` (NULL: nothing) and whose bios may have been handed to another path since,
 * whose completion is `from`. That is NULL when the wake came too late for the mark, or was not seen. */
ALWAYS const struct carried *worse_of(const struct carried *from, const struct carried *befell)
{
	if (befell && (!from || (from->dev == befell->dev && from->cause < befell->cause)))
		return befell;
	return from;
}

/* The row of a sleep that `from` ended (NULL: nobody followed); its cause stays 0 if it was no stall. `call`: see call_to_learn().
 * Returns 0. */
VERIFIED_ONCE int wait_decide(struct thread *t, const struct carried *from, u32 call)
{
	u32 hint, scope;

	if (!t)
		return 0;
	hint = t->hint;
	scope = scope_cause(t);
	if (RARELY(any_befallen) && waits_for_own_request(t))
		from = worse_of(from, last_befallen(t, t->sleep_ns));
	if (hint && t->hint_timed)
		from = NULL; /* whatever completes when its timer fires */
	if (hint < scope)
		hint = scope;
	if (from) {
		if (!t->expect && t->kind == ABI_WAIT_SLEEP)
			return 0; /* a timer that fired while a request completed */
		if (call)
			t->learned_syscall = call;
		t->last_dev = from->dev;
		t->row.dev = from->dev;
		t->row.cause = cause_of_carried(t, from);
		if (t->row.cause <= hint) {
			/* Whose completion it was does not matter: tags, and controllers, are of several disks. */
			t->row.cause = hint;
			if (scope == hint && scope_dev(t, scope))
				t->row.dev = scope_dev(t, scope);
			else if (scope != hint && hint >= ABI_CAUSE_TAG_WAIT && t->hint_dev)
				t->row.dev = t->hint_dev;
		}
	} else if (hint) {
		t->row.dev = scope == hint ? scope_dev(t, scope) : t->hint_dev;
		t->row.cause = hint;
		if (!t->row.dev && scope != hint)
			COUNT(device_unknown);
	} else if (waits_for_own_request(t)) {
		COUNT(wakes_unseen);
		t->row.dev = t->last_dev;
		t->row.cause = cause_of_own_request(t);
		t->goes_on = own_under_way(t);
	} else {
		if (t->expect == EXPECT_IOWAIT)
			iowait_unexplained(t);
		return 0;
	}
	t->row.state = ABI_STALL;
	if (RARELY(t->row.cause >= ABI_CAUSE_TAG_WAIT))
		detail_decide(t, from);
	return 0;
}

/* Whether wait_decide() would make of the sleep what wait_decide_plainly() does: it was for a request that nothing befell, without a hint, a
 * scope or a reset. Most are. */
ALWAYS bool wait_end_is_plain(const struct thread *t, const struct carried *from)
{
	return from && t->expect && !t->hint && !t->open_scopes && !from->reset_end_ns && from->cause &&
	       from->cause < ABI_CAUSE_TAG_WAIT && !(any_befallen && waits_for_own_request(t));
}

ALWAYS void wait_decide_plainly(struct thread *t, const struct carried *from)
{
	t->last_dev = from->dev;
	t->row.dev = from->dev;
	t->row.cause = from->cause;
	t->row.state = ABI_STALL;
}

#endif
