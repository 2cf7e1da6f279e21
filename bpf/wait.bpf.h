/* A sleep, from its beginning to its stack.
 *
 *   begins (switch-out)   what is expected of it is noted, a lot drawn, and the user stack copied if that is likely to be kept
 *   a window ends         its part goes to the ledger as what the sleep seems to be so far (iter.bpf.c)
 *   ends (sched_waking)   by whom: that decides whether it was a stall, and which
 *   switch-in             the sample is sent: the kernel stack still stands as it slept
 *   next switch-out       its time goes to the ledger; what earlier windows were told moves there, too (cycle.bpf.h)
 *
 * The kernel's I/O-wait flag alone is no cause: io_uring sets it for timers and sockets, FUSE and NFS for the answers of
 * other processes. A stall has a request that ended it, a request of its own that was under way, or a place that the
 * kernel names (a tracepoint in front of the sleep).
 */
#ifndef STALLPROF_WAIT_BPF_H
#define STALLPROF_WAIT_BPF_H

#include "bpf/capture.bpf.h"
#include "bpf/decide.bpf.h"
#include "bpf/follow.bpf.h"
#include "bpf/hint.bpf.h"
#include "bpf/issued.bpf.h"
#include "bpf/kind.bpf.h"
#include "bpf/known.bpf.h"
#include "bpf/scope.bpf.h"
#include "bpf/share.bpf.h"

/* A wake that comes within this time may have been before the sleep was complete. */
#define SOON_NS 100000

/* Sets `expect` and `kind`, and notes the call, for a sleep that begins, or has begun, with these registers of the user's. */
ALWAYS void wait_expect(struct task_struct *task, struct thread *t, const struct pt_regs *regs,
                        u32 task_state, u64 now)
{
	u32 nr = call_number(task, regs);
	u16 before = t->kind;

	t->kind = ABI_WAIT_OTHER;
	t->file.assumed = 0;
	scopes_check(t, regs);
	if (RARELY(is_stopped(task, task_state))) {
		t->expect = EXPECT_NOTHING; /* whatever it was about to wait for */
		t->kind = ABI_WAIT_STOPPED;
		if (before != ABI_WAIT_STOPPED)
			t->stopped_in = before;
	} else if (scope_cause(t)) {
		t->expect = EXPECT_SCOPE;
	} else if (waits_for_io(nr) && !(task_state & TASK_UNINTERRUPTIBLE)) {
		t->expect = EXPECT_SYSCALL; /* for several things at once, whatever the flag says */
	} else if (BPF_CORE_READ_BITFIELD(task, in_iowait)) {
		t->expect = EXPECT_IOWAIT;
	} else if (task_state & TASK_UNINTERRUPTIBLE && !(task_state & TASK_NOLOAD)) {
		t->expect = EXPECT_UNINTERRUPTIBLE;
		if (task_state & TASK_WAKEKILL && makes_child(nr))
			t->kind = ABI_WAIT_CHILD; /* vfork: until the child has its own memory */
	} else {
		t->expect = waits_for_io(nr) || (t->learned_syscall && nr + 1 == t->learned_syscall)
		                    ? EXPECT_SYSCALL
		                    : EXPECT_NOTHING;
		if (nr == NR_RESTART_SYSCALL) /* what was interrupted goes on */
			t->kind = before == ABI_WAIT_STOPPED ? t->stopped_in : before;
		else if (regs)
			t->kind = wait_kind(task, t, nr, regs, now);
	}
	share_begin(t, regs);
}

/* It is a stall already, also if its end is not seen and the scope is left when that is noticed. */
ALWAYS void wait_in_scope(struct thread *t)
{
	t->row.state = ABI_STALL;
	t->row.cause = scope_cause(t);
	t->row.dev = scope_dev(t, t->row.cause);
}

/* Copies the user stack of the current thread's sleep that begins, to be kept until it is known what the sleep was. Returns 0. */
VERIFIED_ONCE int capture_sleep(u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_find(task);
	struct captured captured;
	struct stack_buffer *buffer;
	u32 index;

	if (!t || !buffer_take(t, &index))
		return 0;
	buffer = buffer_at(index);
	if (!buffer)
		return 0;
	capture_user(task, t, buffer, &captured);
	if (t->expect) {
		t->copied_ns = now;
		t->copied_ip = captured.n_python ? 0 : buffer->event.regs.ip;
		t->copied_sp = buffer->event.regs.sp;
	}
	if (!buffer_keep(t, buffer, index, &captured))
		buffer_push(index);
	return 0;
}

ALWAYS void wait_begin(struct task_struct *task, struct thread *t, u32 task_state, u64 now)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	t->wait_seq++;
	t->wake_ns = 0;
	t->row.cause = 0;
	if (RARELY(t->goes_on) && t->has_issued)
		t->told_ns = 0; /* it waits for another one by now */
	t->own_request = t->has_issued || t->goes_on ? OWN_REQUEST_ISSUED : OWN_REQUEST_NONE;
	t->goes_on = 0;
	t->has_issued = 0;
	t->own_cause = t->issued_cause;
	t->issued_cause = 0;
	if (regs)
		calls_check(t, regs->sp);
	wait_expect(task, t, regs, task_state, now);
	if (RARELY(t->expect == EXPECT_SCOPE))
		wait_in_scope(t);
	hint_check(task, t, now);
	buffer_release(t);
	if (!t->expect && !long_waits)
		return;
	lot_draw(t, now);
	if (RARELY(worth_a_copy(t, regs, now)))
		capture_sleep(now);
	else if (!any_uncopied)
		any_uncopied = 1;
}

/* Whether who wakes the task can tell nothing of its sleep: nobody is followed here, and the sleep may be interrupted, is not flagged as one
 * for I/O and is in no scope, so that it was for none, whatever wait_expect() made of it. Asked without a look at the thread, which takes
 * longer than all of this. */
ALWAYS bool wake_tells_nothing(struct task_struct *task, struct task_struct *current)
{
	struct marks *here;

	if (!(task->__state & TASK_INTERRUPTIBLE) || BPF_CORE_READ_BITFIELD(task, in_iowait) ||
	    any_interruptible_scopes || serves_others(current))
		return false;
	here = marks_here();
	return here && !here->any;
}

/* Whether the scheduler counts the sleep, which goes on, as run queue: since 6.12 it does where a thread that it has put off dequeuing is
 * moved to another CPU. When that ends must be looked at (queue_after_wake). */
ALWAYS bool queues_asleep(struct task_struct *task)
{
	return HAS_FIELD(task, sched_info.last_queued) && task->sched_info.last_queued;
}

/* Whether it counts some of the sleep, which goes on, or has done so until the thread's scheduling class was changed meanwhile. */
ALWAYS bool queued_asleep(struct task_struct *task, const struct thread *t)
{
	return queues_asleep(task) || queue_clock(task) != queue_settled(t, word_begin(t->word));
}

/* Whether nobody looked at when the sleep ended, if it has: its wake could tell nothing (or was not seen). */
ALWAYS bool woken_unlooked(const struct thread *t)
{
	return t->wake_ns == WOKEN ||
	       (!t->wake_ns && (t->expect == EXPECT_NOTHING || t->expect == EXPECT_SYSCALL));
}

/* Whether the task's sleep may be a long one: by when it last got onto a CPU, as looking at the thread takes longer. */
ALWAYS bool may_be_long(struct task_struct *task, struct task_struct *current)
{
	struct cfs_rq *cfs = HAS_FIELD(current, se.cfs_rq) ? current->se.cfs_rq : NULL;

	return cfs && HAS_FIELD(cfs, rq) && HAS_FIELD(task, sched_info.last_arrival) &&
	       since(cfs->rq->clock, task->sched_info.last_arrival) >= threshold_ns[ABI_WAITS_BLOCKED];
}

/* Notes who ends the sleep, if that is no interrupt: whom that comes upon has nothing to do with it. The tag may be a moment old.
 * Of who holds none the program's name is told: threads may have any number of names. */
NOW_AND_THEN void waker_note(struct task_struct *task, struct task_struct *current)
{
	struct thread *t = thread_find(task), *waker;

	if (!t || t->state != ABI_SLEEP || !preempt_count_from_rq || interrupt_depth(current) ||
	    serves_others(current))
		return;
	waker = thread_find(current);
	t->waker.tag = waker ? thread_sums(waker)->tag : 0;
	BPF_CORE_READ_INTO(&t->waker.comm, current, group_leader, comm);
	t->waker.tid = current->pid;
	t->waker.creator = waker && waker->born_ns > t->sleep_ns ? waker->creator : 0;
	t->waker.born_ns = waker ? waker->born_ns : 0;
	t->waker.seq = t->wait_seq;
}

/* The sleep ends, by what `from` stands for. The clock is read only where it may be a stall; of others the scheduler's clocks tell later
 * (wake_from_queue_clock). */
ALWAYS void wait_end(struct task_struct *task, struct thread *t, const struct carried *from, u64 *now)
{
	if (t->state != ABI_SLEEP || t->wake_ns)
		return;
	if (!from && !t->expect) {
		t->wake_ns = RARELY(queued_asleep(task, t)) ? clock_once(now) : WOKEN;
		return;
	}
	if (MOSTLY(wait_end_is_plain(t, from)))
		wait_decide_plainly(t, from);
	else
		wait_decide(t, from, call_to_learn(task, t, from));
	hint_slept(t);
	t->wake_ns = clock_once(now);
}

/* A thread is woken that has set its state and left the run queue, and whose switch-out is yet to come. */
ALWAYS void wait_end_early(struct task_struct *task, struct thread *t, const struct carried *from)
{
	struct sched_entity *se = &task->se;
	bool delayed = HAS_FIELD(se, sched_delayed) && se->sched_delayed;

	if (task->on_rq && !delayed)
		return;
	t->early = from ? *from : (struct carried){};
	t->early_ns = bpf_ktime_get_ns();
}

/* What a wake of the current thread that came too early had to tell. Returns 0. */
VERIFIED_ONCE int wait_take_early(u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_find(task);
	struct carried *early;
	u64 early_ns;

	if (!t)
		return 0;
	early_ns = t->early_ns;
	t->early_ns = 0;
	if (since(now, early_ns) > SOON_NS)
		return 0;
	early = t->early.cause ? &t->early : NULL;
	wait_decide(t, early, call_to_learn(task, t, early));
	hint_slept(t);
	t->wake_ns = now + 1;
	return 0;
}

/* The current thread's sleep has ended, and no wake was seen: still the kernel may have said what it was, or let go of a request of the
 * thread's cgroup meanwhile. Returns 0. */
VERIFIED_ONCE int wait_end_unseen(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_find(task);
	struct held_back *held;

	if (!t)
		return 0;
	held = t->hint || waits_for_own_request(t) ? NULL : held_back_of(task, t);
	if (!waits_for_own_request(t))
		COUNT(wakes_unseen);
	if (held) {
		t->hint = ABI_CAUSE_THROTTLE;
		t->hint_dev = held->dev;
		t->hint_timed = 0;
		t->hint_lasts = HINT_ENDS;
	}
	wait_decide(t, NULL, 0);
	hint_slept(t);
	t->wake_ns = WOKEN;
	return 0;
}

/* To be asked on the thread itself before what it slept is settled: at the switch-out, and at a tag change before that. */
ALWAYS void wait_look(struct thread *t)
{
	if (t->wake_ns || t->expect != EXPECT_IOWAIT || !cycle_slept(t, word_begin(t->word)) ||
	    since(t->in_ns, t->sleep_ns) <= SOON_NS)
		return;
	wait_end_unseen();
}

/* What of a wait is sampled. */
struct wait_part {
	struct wait_row row;
	u32 kind; /* enum abi_event_kind */
	u64 ns, end_ns, threshold;
	struct request *request; /* that it goes on for; NULL: another thing, or it has ended */
	bool kernel_gone;        /* the task's kernel stack is not that of the wait any more */
};

/* Whether what earlier windows were told of the sleep was something else. */
ALWAYS bool wait_moves(const struct thread *t, const struct wait_row *row)
{
	return t->told_ns && t->told_seq == t->wait_seq && !same_row(&t->told, row);
}

ALWAYS void wait_event(struct task_struct *task, struct thread *t, struct abi_event *event,
                       const struct wait_part *part, u64 window)
{
	event_head(event, task, t, part->kind, thread_sums(t)->tag);
	event->time_ns = part->end_ns;
	event->duration_ns = part->ns;
	event->weight_ns = wait_weight(part->ns, part->threshold);
	event->dev = part->row.dev;
	event->state = part->row.state;
	event->cause = part->row.cause;
	event->window = window;
	if (wait_moves(t, &part->row)) {
		event->duration_ns += t->told_ns;
		event->weight_ns = wait_weight(event->duration_ns, part->threshold);
		event->moved_ns = t->told.state == ABI_STALL ? t->told_ns : t->told_sent_ns;
		event->moved_state = t->told.state;
		event->moved_cause = t->told.cause;
		event->moved_dev = t->told.dev;
	}
	if (part->kernel_gone)
		event->kstack_len = 0;
	else
		kernel_stack_of(task, event);
}

/* No copy of the user stack was made: the registers at least. */
ALWAYS void wait_event_bare(struct task_struct *task, struct stack_buffer *buffer)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (regs)
		regs_from(&buffer->event.regs, regs);
	buffer->event.flags = ABI_NO_USER_COPY;
}

ALWAYS void waker_take(struct stack_buffer *buffer, const struct thread *t)
{
	if (t->waker.seq != t->wait_seq)
		return;
	buffer->detail.cause = buffer->event.cause;
	buffer->detail.known = 0;
	detail_number(&buffer->detail, ABI_WAKER_TAG, t->waker.tag);
	detail_number(&buffer->detail, ABI_WAKER_TID, t->waker.tid);
	detail_number(&buffer->detail, ABI_WAKER_CREATOR, t->waker.creator);
	detail_number(&buffer->detail, ABI_WAKER_BORN_NS, t->waker.born_ns);
	__builtin_memcpy(buffer->detail.text[0], t->waker.comm, sizeof(t->waker.comm));
	buffer->event.has_detail = 1;
}

/* The sample of a wait whose thread is being switched in: its buffer is still its own. */
NOW_AND_THEN void wait_sample(struct task_struct *task, struct thread *t, const struct wait_part *part)
{
	struct stack_buffer *buffer = NULL;
	void *ledger = ledger_now();
	u32 len = 0, n_python = 0;
	u64 key = 0;

	if (t->stack_buffer != ABI_NO_BUFFER)
		buffer = buffer_at(t->stack_buffer);
	if (buffer) {
		key = buffer->kept.key;
		len = buffer->kept.len;
		n_python = buffer->kept.n_python;
		buffer->event.flags = buffer->kept.flags;
	} else {
		if (part->row.state == ABI_STALL && t->refused_seq == t->wait_seq + 1)
			COUNT(slots_exhausted);
		else
			COUNT(stacks_not_copied);
		if (!part->kernel_gone) /* else it stands elsewhere by now */
			want_copies_here(t, (struct pt_regs *)bpf_task_pt_regs(task));
		buffer = buffer_scratch();
		if (buffer)
			wait_event_bare(task, buffer);
	}
	if (!buffer || !ledger)
		return;
	wait_event(task, t, &buffer->event, part, ledger_window(ledger));
	if (RARELY(cause_has_details(&buffer->event)))
		detail_take(buffer, t);
	else if (part->row.state == ABI_SLEEP)
		waker_take(buffer, t);
	buffer->event.stack_key = key;
	if (key && stack_known(buffer, len))
		send_as_known(buffer);
	else
		event_send(buffer, len, n_python);
}

/* The sample of a wait that goes on, taken from another CPU. The buffer is copied, because the thread may be woken and
 * give it to another; if it was switched meanwhile, the copy is not sent. Whether it was sent. */
ALWAYS bool wait_sample_inflight(struct task_struct *task, struct thread *t, const struct wait_part *part)
{
	struct stack_buffer *buffer = buffer_at(walk_buffer), *copy = NULL;
	u32 len = 0, n_python = 0, index = t->stack_buffer, seq = t->wait_seq;
	void *ledger = ledger_now();

	if (!buffer || !ledger)
		return false;
	if (index != ABI_NO_BUFFER)
		copy = buffer_at(index);
	if (copy) {
		len = copy->kept.len;
		n_python = copy->kept.n_python;
		buffer->event.regs = copy->event.regs;
		buffer->event.stack_top = copy->event.stack_top;
		buffer->event.flags = copy->kept.flags;
		bpf_probe_read_kernel(buffer->ustack,
		                      cut_to(captured_bytes(len, n_python), ABI_USTACK_MAX + PYTHON_BYTES),
		                      copy->ustack);
	} else {
		wait_event_bare(task, buffer);
	}
	wait_event(task, t, &buffer->event, part, ledger_window(ledger));
	if (RARELY(cause_has_details(&buffer->event)))
		detail_take_inflight(buffer, t, part->request);
	return t->wait_seq == seq && t->state == ABI_SLEEP && t->stack_buffer == index &&
	       event_send(buffer, len, n_python) > 0;
}

#endif
