/* The scheduler's side: every tagged thread is on a CPU, on a run queue or asleep, and each change is here. */
#include "bpf/files.bpf.h"
#include "bpf/issued.bpf.h"
#include "bpf/log_take.bpf.h"
#include "bpf/recovery.bpf.h"
#include "bpf/share.bpf.h"
#include "bpf/wait.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The current thread may hold another tag than its cycle began under. Returns 0. */
VERIFIED_ONCE int look_at_tag(u32 task_state)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_find(task);

	if (!t)
		return 0;
	if (t->watches_context && !(task_state & TASK_DEAD))
		thread_read_context(task, t);
	if (t->in_file && file_call_left(task, t)) {
		t->in_file = 0;
		t->retag = 1;
	}
	if (t->retag && !t->reading) {
		t->retag = 0;
		thread_retag(task, t);
	}
	return 0;
}

/* Whether a wait that has just ended is sampled, as it was a stall, or long and wanted; by which T. */
ALWAYS bool wait_wanted(const struct thread *t, struct wait_part *part)
{
	u64 ns = part->ns, whole = since(t->wake_ns, t->sleep_ns);
	bool moves = wait_moves(t, &part->row);

	part->threshold = threshold_ns[ABI_WAITS_STALL];
	if (!t->row.cause && !moves) {
		part->threshold = threshold_ns[ABI_WAITS_BLOCKED];
		return long_waits && ns >= part->threshold;
	}
	if (moves)
		ns += t->told_ns;
	return wait_kept(t, ns, whole, part->threshold);
}

/* `in_place`: the thread is just switched in, so that its kernel stack is that of the sleep. */
ALWAYS void wait_sampled(struct task_struct *task, struct thread *t, u64 begin, bool in_place)
{
	struct wait_part part = { .row = wait_row_of(t),
		                  .kind = ABI_EVENT_WAIT,
		                  .ns = t->wake_ns - begin,
		                  .end_ns = t->wake_ns,
		                  .kernel_gone = !in_place };

	if (t->row.cause && since(t->wake_ns, t->sleep_ns) > t->usual_ns)
		t->usual_ns = since(t->wake_ns, t->sleep_ns);
	else
		t->usual_ns -= t->usual_ns / 8;
	if (RARELY(wait_wanted(t, &part)))
		wait_sample(task, t, &part);
}

/* A long sleep whose end was not looked at ended when the thread was put on a run queue, which it leaves now. */
ALWAYS void wake_from_queue_clock(struct task_struct *task, struct thread *t, u64 begin, u64 now)
{
	if (long_waits && woken_unlooked(t) && t->state == ABI_SLEEP &&
	    since(now, t->sleep_ns) >= threshold_ns[ABI_WAITS_BLOCKED])
		t->wake_ns = now - queued_ns(task, t, begin);
}

/* Whether the sleep that the cycle began with has ended, and may be sampled. */
ALWAYS bool slept_to_its_end(const struct thread *t, u64 begin)
{
	return t->state == ABI_SLEEP && (t->row.cause || long_waits) && cycle_slept(t, begin) &&
	       t->wake_ns > begin;
}

/* The current thread's switch-in was not seen. The scheduler's clocks tell the cycle none the less. Returns 0. */
VERIFIED_ONCE int came_in_unseen(u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_find(task);
	u64 begin;

	if (!t)
		return 0;
	begin = word_begin(t->word);
	COUNT(switch_ins_unseen);
	wake_from_queue_clock(task, t, begin, now - since(cpu_clock(task), exec_settled(t, begin)));
	if (slept_to_its_end(t, begin) && thread_sums(t)->tag && thread_followed(t))
		wait_sampled(task, t, begin, false);
	t->in_ns = now;
	buffer_release(t);
	return 0;
}

/* The thread ran before it was followed. */
NOW_AND_THEN void follow_from_here(struct task_struct *task, struct thread *t, u64 word, u64 now)
{
	t->followed_since = hot_generation;
	sums_of_word(t, word)->run.unobserved += since(now, word_begin(word));
	cycle_mark(task, t, true);
}

ALWAYS void falls_asleep(struct task_struct *task, struct thread *t, u32 task_state, u64 now)
{
	if (RARELY(task_state & TASK_DEAD)) {
		thread_end(t);
		buffer_release(t);
		return_buffer(t);
		return;
	}
	t->slept_begin = now;
	t->sleep_ns = now;
	if (!thread_sums(t)->tag) {
		t->goes_on = 0;
		t->hint = 0;
		return;
	}
	wait_begin(task, t, task_state, now);
	if (RARELY(t->early_ns))
		wait_take_early(now);
}

ALWAYS void switched_out(struct task_struct *task, struct thread *t, bool preempt, u32 task_state, u64 now)
{
	bool sleeps = !preempt && task_state;
	u64 word, old;

	wait_look(t);
	if (RARELY(t->has_log))
		log_take(task, t, false);
	if (RARELY(t->watches_context || t->retag || t->in_file))
		look_at_tag(task_state);
	if (RARELY(t->state != ABI_ONCPU))
		came_in_unseen(now);
	wait_look(t);
	word = t->word;
	if (now < word_begin(word))
		now = word_begin(word);
	old = __sync_lock_test_and_set(&t->word, word_of(now, word_index(word)));
	if (RARELY(!thread_followed(t)))
		follow_from_here(task, t, old, now);
	else
		cycle_settle(task, t, old, now);
	t->state = sleeps ? ABI_SLEEP : ABI_RUNQ;
	if (!sleeps)
		return;
	falls_asleep(task, t, task_state, now);
	/* A walk that took the thread for running has moved the begin meanwhile (thread_settle_running). */
	word = t->word;
	if (RARELY(word_begin(word) != now))
		t->slept_begin = word_begin(word);
}

ALWAYS void switched_in(struct task_struct *task, struct thread *t, u64 now)
{
	u64 begin = word_begin(t->word);

	t->in_ns = now;
	wake_from_queue_clock(task, t, begin, now);
	if (t->state == ABI_RUNQ)
		issued_later(t, begin, now);
	if (t->state == ABI_SLEEP)
		kind_settle(task, t, now);
	if (slept_to_its_end(t, begin) && thread_sums(t)->tag && thread_followed(t))
		wait_sampled(task, t, begin, true);
	if (t->state == ABI_SLEEP)
		hint_slept(t); /* a preemption comes between what announces a sleep and the sleep */
	t->state = ABI_ONCPU;
	t->early_ns = 0;
	buffer_release(t);
}

/* A thread that serves others and goes to sleep has done what it was woken for. */
ALWAYS void carrier_sleeps(struct task_struct *task)
{
	struct carried *carried = carried_by(task);

	if (!carried || (carried->sticky && !carried->ending))
		return;
	if (carried->early == CARRIED_EARLY && bpf_ktime_get_ns() - carried->since_ns < SOON_NS)
		carried->early = CARRIED_KEPT;
	else
		carry_no_more(task);
}

/* With the cache lines behind the first, which each switch looks at, and who wakes the thread has written on another CPU. */
ALWAYS struct thread *thread_find_early(struct task_struct *task)
{
	struct thread *t = thread_find(task);

	if (!t)
		return NULL;
	fetch_early(&t->exec_mark);
	fetch_early(&t->usual_ns);
	fetch_early(&t->copied_ip);
	fetch_early(&t->allocating);
	return t;
}

ALWAYS int switches(bool preempt, struct task_struct *prev, struct task_struct *next, u32 prev_state)
{
	struct thread *t;
	u64 now =
	        0; /* one for both sides: what the hook itself takes counts as the next thread's, as in the kernel */

	if (serves_others(prev)) {
		if (!preempt && prev_state) {
			carrier_sleeps(prev);
			recoverer_sleeps(prev);
		}
	} else {
		t = thread_find_early(prev);
		if (t)
			switched_out(prev, t, preempt, prev_state, clock_once(&now));
	}
	if (serves_others(next)) {
		recoverer_wakes(next);
		return 0;
	}
	t = thread_find_early(next);
	if (t)
		switched_in(next, t, clock_once(&now));
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
             u32 prev_state)
{
	return switches(preempt, prev, next, prev_state);
}

/* Kernels before 5.18 do not say in what state `prev` leaves. Its own is still that; only if another CPU has begun to wake it by now is
 * it TASK_WAKING, which is a sleep, too. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch_stateless, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return switches(preempt, prev, next, prev->__state);
}

ALWAYS void carrier_woken(struct task_struct *task)
{
	u64 now = 0;
	struct carried *from = followed_here(bpf_get_current_task_btf(), &now), *kept;

	if (from) {
		carry(task, from);
		return;
	}
	/* It has slept since: what it kept was taken for early wrongly, by a wake right behind its switch-out. */
	kept = carried_by(task);
	if (kept && kept->early == CARRIED_KEPT)
		carry_no_more(task);
}

/* Whether the thread may wait for what a completion frees, a tag. */
ALWAYS bool may_want_freed(const struct thread *t)
{
	return t->expect == EXPECT_IOWAIT ||
	       (t->expect == EXPECT_SCOPE && t->scopes.depth[ABI_CAUSE_TAG_WAIT]);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_sched_waking, struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct carried *from, *passed = NULL;
	struct thread *t;
	u64 now = 0;

	if (serves_others(task)) {
		carrier_woken(task);
		return 0;
	}
	if (wake_tells_nothing(task, current) && !RARELY(queues_asleep(task) || may_be_long(task, current)))
		return 0;
	t = thread_find_early(task);
	if (!t)
		return 0;
	from = followed_here(current, &now);
	if (!from)
		from = followed_helper(current, t);
	if (!from && may_want_freed(t))
		from = mark_valid(current, true, &now);
	if (!from)
		from = passed = passed_on(current, t);
	if (t->state == ABI_ONCPU) {
		wait_end_early(task, t, from);
		return 0;
	}
	wait_end(task, t, from, &now);
	if (from && t->row.cause && t->wake_ns == now)
		share(t, from, passed ? passed->since_ns : now);
	else if (RARELY(long_waits && !from && may_be_long(task, current)))
		waker_note(task, current);
	return 0;
}

/* Children inherit the process's tag and are watched as their parent is; a pushed tag stays its thread's. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread *p = thread_find(parent), *t;
	u64 now = bpf_ktime_get_ns();
	bool same_process = parent->tgid == child->tgid;

	bool copied;

	if (!p)
		return 0;
	if (!same_process) {
		python_forked(p, child);
		log_take_last(parent, p);
	}
	/* A child process has a copy of the thread's memory, and so of the tag that it has pushed. */
	copied = !same_process && p->stalltag_held;
	if (!p->base_tag && !copied && !(same_process && p->watches_context))
		return 0;
	t = thread_find_or_create(child, now, ABI_RUNQ);
	if (!t)
		return 0;
	t->creator = parent->pid;
	t->born_ns = now;
	t->base_tag = p->base_tag;
	t->own_base = p->own_base;
	if (copied) {
		t->thread_tag = p->thread_tag;
		t->stalltag_held = 1;
		t->context_known = 1;
	}
	if (!same_process)
		log_inherit(child, t, p);
	t->watches_context = same_process ? p->watches_context : 0;
	thread_retag(child, t);
	return 0;
}

/* Such events come no more often than this. */
#define EXEC_TOLD_NS 10000000ULL
__u64 exec_told_ns = 0;

/* The new program may have the tag library in it, and push a tag any moment: user space is woken, as its next look may be a tenth of a
 * second away. */
ALWAYS void tell_exec(const struct thread *t, u64 now)
{
	u64 last = exec_told_ns;

	if (since(now, last) >= EXEC_TOLD_NS && __sync_val_compare_and_swap(&exec_told_ns, last, now) == last)
		announce(ABI_EVENT_EXEC, t->tgid);
}

/* exec keeps the process's tag; contexts live in the memory that is gone. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct thread *t = thread_find(task);

	if (!t)
		return 0;
	python_executed(t);
	calls_forget(t);
	if (t->exec_tag) { /* the profiler's own child, which is looked at anyhow */
		/* A split of the cycle here would have the hooks' clocks only, and its begin is nobody's time. */
		thread_rebase(task, t, t->word, ABI_ONCPU, bpf_ktime_get_ns());
		t->base_tag = t->exec_tag;
		t->exec_tag = 0;
	} else {
		tell_exec(t, bpf_ktime_get_ns());
	}
	t->watches_context = 0;
	t->adopted = 0;
	t->context_known = 0;
	t->stalltag_held = 0;
	t->log_at = t->has_log = 0;
	t->thread_tag = 0;
	t->tgid = task->tgid;
	t->tid = task->pid;
	thread_retag(task, t);
	return 0;
}
