/* The life of a tagged thread: found, created, given a tag, ended. */
#ifndef STALLPROF_THREAD_BPF_H
#define STALLPROF_THREAD_BPF_H

#include "bpf/bare_event.bpf.h"
#include "bpf/cycle.bpf.h"
#include "bpf/found.bpf.h"

/* Memory of `task`: its own, where the programs run in it, or another's, where they may sleep. */
#ifdef CONTEXT_OF_OTHERS
#define user_read(to, size, from) bpf_copy_from_user_task(to, size, from, task, 0)
#else
#define user_read(to, size, from) bpf_probe_read_user(to, size, from)
#endif

/* NULL also while another CPU is still making it. */
ALWAYS struct thread *thread_find(struct task_struct *task)
{
	struct thread *t;

	if (!task->bpf_storage)
		return NULL; /* most have none: the question costs less than the call */
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t && storage_busy_from_rq)
		count_refused((u64)BPF_CORE_READ(task, bpf_storage));
	return t && t->word ? t : NULL;
}

ALWAYS struct context_scratch *scratch_of(struct task_struct *task)
{
	return bpf_task_storage_get(&scratches, task, 0, 0);
}

struct cgroup_search {
	struct cgroup *cgroup;
	u32 level;
	bool found;
};

/* Looks at the ancestor on level i, of which the last is the cgroup itself; 1 ends the loop. */
ALWAYS long cgroup_look(u32 i, struct cgroup_search *s)
{
	struct cgroup *cgroup = s->cgroup, *ancestor = NULL;
	struct cgroup___before_6_1 *old = (void *)cgroup;
	u64 id = 0;

	if (i > s->level)
		return 1;
	if (HAS_FIELD(cgroup, ancestors)) {
		bpf_core_read(&ancestor, sizeof(ancestor), &cgroup->ancestors[i]);
		id = BPF_CORE_READ(ancestor, kn, id);
	} else if (HAS_FIELD(old, ancestor_ids)) {
		bpf_core_read(&id, sizeof(id), &old->ancestor_ids[i]);
	}
	s->found = id == filter_cgroup;
	return s->found;
}

LOOP_OF(cgroup_look, struct cgroup_search)

/* Whether the cgroup (its address) is the one that is asked for, or below it. All levels are looked at, as user space cannot know on which
 * one that is: what it sees as the root need not be the hierarchy's. */
VERIFIED_ONCE int cgroup_is_below(u64 address)
{
	struct cgroup *cgroup = (struct cgroup *)address;
	struct cgroup_search s = { .cgroup = cgroup };

	if (!cgroup)
		return 0;
	s.level = BPF_CORE_READ(cgroup, level);
	cgroup_look_loop(LOOP_MAX, &s);
	return s.found;
}

ALWAYS bool in_filter_cgroup(struct task_struct *task)
{
	return !filter_cgroup || cgroup_is_below((u64)BPF_CORE_READ(task, cgroups, dfl_cgrp));
}

ALWAYS struct abi_process *process_followed(u32 tgid, u64 start_ns)
{
	struct abi_process_key key = { .tgid = tgid, .start_ticks = start_ns / ABI_TICK_NS };

	return bpf_map_lookup_elem(&processes, &key);
}

ALWAYS void process_met(u32 tgid)
{
	u64 key = tgid;
	u8 one = 1;

	if (!bpf_map_lookup_elem(&met_processes, &key) &&
	    bpf_map_update_elem(&met_processes, &key, &one, BPF_ANY))
		met_more = 1;
}

/* For a thread that has none, which nobody else finds before thread_publish(). NULL when it is filtered out, no storage could be had, or
 * another program makes it or has made it. */
ALWAYS struct thread *thread_create(struct task_struct *task, u64 now, u32 state)
{
	struct thread *t;

	if (!in_filter_cgroup(task))
		return NULL;
	t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		COUNT(threads_failed);
		return NULL;
	}
	if (__sync_lock_test_and_set(&t->claimed, 1))
		return NULL;
	if (!bpf_task_storage_get(&scratches, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE))
		COUNT(threads_failed);
	t->state = state;
	t->in_ns = now;
	cycle_mark(task, t, state != ABI_ONCPU);
	t->tgid = task->tgid;
	t->tid = task->pid;
	t->process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	t->stack_buffer = ABI_NO_BUFFER;
	t->reserved_buffer = ABI_NO_BUFFER;
	t->followed_since = hot_generation;
	t->lot = bpf_get_prandom_u32();
	process_met(t->tgid);
	return t;
}

/* From here on the thread's own switches see it. `now`: as when it was created. */
ALWAYS void thread_publish(struct thread *t, u64 now)
{
	barrier();
	t->word = word_of(now, 0);
}

/* NULL when the thread is filtered out, no storage could be had, or another program is just making it. */
ALWAYS struct thread *thread_find_or_create(struct task_struct *task, u64 now, u32 state)
{
	struct thread *t = thread_find(task);

	if (t)
		return t;
	t = thread_create(task, now, state);
	if (t)
		thread_publish(t, now);
	return t;
}

/* The task's state as the scheduler sees it, for a thread whose past is unknown. */
ALWAYS u32 task_state_now(struct task_struct *task)
{
	if (HAS_FIELD(task, on_cpu) && task->on_cpu)
		return ABI_ONCPU;
	if (task->on_rq && !task->__state)
		return ABI_RUNQ;
	return task->__state ? ABI_SLEEP : ABI_RUNQ;
}

/* The thread runs although its switch-in was not seen. It came in when it had waited its time in the queue; if it is
 * not known since when it waited, what its CPU clock says (which may be a tick old) was on the CPU. */
ALWAYS void thread_found_running(struct task_struct *task, struct thread *t)
{
	u64 begin = word_begin(t->word);

	if (t->wake_ns > begin)
		t->in_ns = t->wake_ns + since(queue_clock(task), queue_settled(t, begin));
	else
		t->in_ns = bpf_ktime_get_ns() - since(cpu_clock(task), exec_settled(t, begin));
	t->state = ABI_ONCPU;
	COUNT(switch_ins_unseen);
}

/* What the thread is doing, for time that cannot be split by the scheduler's clocks. */
ALWAYS u32 thread_state(const struct thread *t)
{
	return thread_followed(t) ? t->state : ABI_UNOBSERVED;
}

/* At a window's end: the time of a thread on a CPU, up to `end`; what lies between `change` and that belongs to others. */
ALWAYS bool thread_settle_running(struct task_struct *task, struct thread *t, u64 word, u64 change, u64 end)
{
	u64 tag = sums_of_word(t, word)->tag;
	struct split split = { .word = word,
		               .next = word_index(word),
		               .queue = queue_clock(task),
		               .change = change,
		               .end = end };
	struct wait_row row;

	if (!cycle_split(t, &split))
		return false;
	/* It may be in the midst of its switch-out: then this has moved the begin of a sleep, which switched_out() may not see. */
	if (t->state == ABI_SLEEP && end > word_begin(word))
		__sync_val_compare_and_swap(&t->slept_begin, word_begin(word), end);
	ledger_charge(t, tag, ABI_ONCPU, split.shares.oncpu, 0);
	ledger_charge(t, tag, ABI_RUNQ, split.shares.runq, 0);
	if (!split.shares.asleep)
		return true;
	row = wait_row_of(t);
	ledger_charge_wait(t, tag, &row, split.shares.asleep, 1, since(t->in_ns, t->sleep_ns));
	told_move(t, &row);
	t->told_ns = 0;
	return true;
}

ALWAYS void count_tagged(u64 before, u64 after)
{
	if (!before != !after)
		__sync_fetch_and_add(&n_tagged, after ? 1 : -1);
}

/* Settles what lies before now, and goes on under `tag` in another sums. The one that is left is emptied before: once it is left, the
 * next change may take it. `queue`: the run-queue clock, looked at after the thread's word. 0: the thread was switched meanwhile. */
VERIFIED_ONCE int thread_turn(struct thread *t, u64 word, u64 tag, u64 queue)
{
	struct split split = { .word = word, .queue = queue };
	u64 before;

	if (!t)
		return 1;
	before = sums_of_word(t, word)->tag;
	split.next = index_after(word_index(word), t->reading);
	t->sums[split.next & 3].tag = tag;
	sums_flush(t, word_index(word));
	split.end = split.change = bpf_ktime_get_ns();
	if (thread_followed(t) && t->state == ABI_ONCPU) {
		if (!cycle_split(t, &split))
			return 0;
		cycle_charge(t, before, &split.shares);
	} else {
		if (__sync_val_compare_and_swap(&t->word, word, word_of(split.end, split.next)) != word)
			return 0;
		if (cycle_slept(t, word_begin(word)))
			/* It sleeps on in the cycle that begins here, unless it has slept again meanwhile. */
			__sync_val_compare_and_swap(&t->slept_begin, word_begin(word), split.end);
		ledger_charge(t, before, thread_state(t), since(split.end, word_begin(word)), 1);
	}
	count_tagged(before, tag);
	return 1;
}

/* Makes `tag` what the thread is under from now on. Only on the thread itself, and not within itself. */
ALWAYS void thread_set_tag(struct task_struct *task, struct thread *t, u64 tag)
{
	struct tag_sums *old;
	u64 word;
	u32 i;

	if (thread_sums(t)->tag == tag)
		return;
	if (t->adopted && !t->context_known && t->watches_context) {
		/* Held since before we looked: all that has run up is this tag's. */
		old = thread_sums(t);
		count_tagged(old->tag, tag);
		old->tag = tag;
		return;
	}
	if (thread_followed(t) && t->state != ABI_ONCPU && bpf_get_current_task_btf() == task)
		thread_found_running(task, t);
	for (i = 0; i < 4; i++) {
		word = *(volatile u64 *)&t->word;
		if (thread_turn(t, word, tag, queue_clock(task)))
			return;
	}
}

/* A tag pushed by the thread refines its process's, and that of a file that it is in a call on refines both. */
ALWAYS void thread_retag(struct task_struct *task, struct thread *t)
{
	u64 tag = t->thread_tag ? t->thread_tag : t->base_tag;

	thread_set_tag(task, t, t->in_file ? t->file_tag : tag);
}

/* From now on the thread is followed; what went before was not observed. `word` is what it was before `state` was looked at: if the thread
 * has been switched since, it finds out by itself. */
ALWAYS void thread_rebase(struct task_struct *task, struct thread *t, u64 word, u32 state, u64 now)
{
	if (__sync_val_compare_and_swap(&t->word, word, word_of(now, word_index(word))) != word)
		return;
	t->state = state;
	t->slept_begin = state == ABI_SLEEP ? now : 0;
	t->sleep_ns = now;
	t->in_ns = now;
	t->wake_ns = 0;
	t->row.cause = 0;
	t->told_ns = 0;
	cycle_mark(task, t, state != ABI_ONCPU);
	t->followed_since = hot_generation;
	ledger_charge(t, sums_of_word(t, word)->tag, ABI_UNOBSERVED, since(now, word_begin(word)), 1);
}

/* After the thread's last switch-out was settled. */
NOW_AND_THEN void thread_end(struct thread *t)
{
	struct tag_sums *sums = thread_sums(t);

	sums_flush(t, word_index(t->word));
	if (sums->tag)
		__sync_fetch_and_add(&n_tagged, -1);
	sums->tag = 0;
	t->state = ABI_DEAD;
}

/* Tells user space, which attaches the hot programs. */
ALWAYS void announce(u32 kind, u32 tgid)
{
	struct abi_event *event = bare_event(kind, bpf_ktime_get_ns());

	if (!event)
		return;
	event->tgid = tgid;
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
}

/* Tags are announced no more often than this. */
#define ANNOUNCE_NS 100000000ULL

/* Somebody is tagged, where nobody was. User space attaches at its next turn, and stays attached for a while; it looks at
 * the time, so that none is missed. */
ALWAYS void announce_tagged(const struct thread *t, u64 now)
{
	u64 last = tagged_ns;

	if (since(now, last) < ANNOUNCE_NS || __sync_val_compare_and_swap(&tagged_ns, last, now) != last)
		return;
	if (!hot_attached())
		announce(ABI_EVENT_TAGGED, t->tgid);
}

/* The current thread, which gets a tag (`tagged`) or loses it; NULL: it is of no interest. */
ALWAYS struct thread *changed_thread(struct task_struct *task, bool tagged, u64 now)
{
	struct thread *t = thread_find(task);

	if (!t && (only_adopted || !tagged))
		return NULL;
	return t ? t : thread_find_or_create(task, now, ABI_ONCPU);
}

#endif
