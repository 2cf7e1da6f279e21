/* A thread takes what its own log of tag changes has (log.bpf.h): at its switch-out, at the library's probe, and where else its tag
 * must be known. */
#ifndef STALLPROF_LOG_TAKE_BPF_H
#define STALLPROF_LOG_TAKE_BPF_H

#include "bpf/log.bpf.h"
#include "bpf/wait.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct tag_log);
} tag_logs SEC(".maps") __weak;

/* Of programs that cannot be preempted, nor interrupt each other. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct log_batch);
} log_batches SEC(".maps") __weak;

/* The thread has this tag of its own now, 0: none. */
ALWAYS void log_own_tag(struct thread *t, u64 key)
{
	t->thread_tag = key;
	t->stalltag_held = key != 0;
	t->context_known = 1;
}

/* Settles the entries that were read, and goes on under the last one's tag; nothing, if the thread's time was settled
 * meanwhile. */
ALWAYS void log_settle(struct log_reader *r, u64 word, u64 key)
{
	struct log_batch *b = r->batch;
	struct thread *t = r->t;
	struct tag_sums *old = sums_of_word(t, word);
	u64 before = old->tag, tag = key ? key : t->base_tag;
	struct split *split = &b->split;

	split->word = word;
	split->next = word_index(word);
	split->queue = queue_clock(r->task);
	split->change = log_change(b);
	split->end = b->at_ns;
	if (tag != before) {
		split->next = index_after(word_index(word), r->on_probe);
		t->sums[split->next & 3].tag = tag;
		sums_flush(t, word_index(word));
	}
	if (!cycle_split(t, split))
		return;
	t->log_tail = b->tail + b->n;
	log_own_tag(t, key);
	count_tagged(before, tag);
	cycle_charge(t, before, &split->shares);
	log_charge(r);
}

/* Takes a batch of entries; false: there was none. */
ALWAYS bool log_take_batch(struct log_reader *r)
{
	struct log_batch *b = r->batch;
	struct thread *t = r->t;
	u64 word = t->word, key;

	if (!log_read(r, t->log_tail))
		return false;
	log_begin(r, word);
	log_sum(r);
	key = log_row_tag(r, b->row);
	if (thread_followed(t) && t->state == ABI_ONCPU) {
		log_settle(r, word, key);
		return true;
	}
	t->log_tail = b->tail + b->n;
	log_own_tag(t, key);
	t->retag = 1; /* its time is not split: whoever comes next does it */
	return true;
}

/* Whether there is anything to be read. The memory is gone when a thread has ended, or runs another program. `sampled`: in an
 * interrupt, which may come just when the kernel has the page in its hands, as after a fork: nothing is lost then, as the thread's
 * next switch reads the log. A page that the kernel holds back (context_unreadable()) has no news but what was noted right before:
 * however often it is looked at, that may be one loss. */
ALWAYS bool log_has_news(struct task_struct *task, struct thread *t, struct abi_log_state *state,
                         bool sampled)
{
	if (!t->log_at || t->log_mm != (u64)task->mm)
		return false;
	if (bpf_probe_read_user(state, sizeof(*state), (void *)t->log_at)) {
		if (!sampled && !t->log_unread)
			COUNT(tag_logs_unreadable);
		if (!sampled)
			t->log_unread = 1;
		return false;
	}
	t->log_unread = 0;
	return state->head != t->log_tail;
}

/* Takes a batch of what the current thread's log has; 0: that was all. `on_probe`: it may be preempted. */
VERIFIED_ONCE int log_take_now(struct log_batch *batch, u32 on_probe)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct log_reader r = { .task = task, .t = thread_find(task), .batch = batch, .on_probe = on_probe };

	if (!r.t || !batch)
		return 0;
	r.known = bpf_task_storage_get(&tag_logs, task, 0, 0);
	if (!r.known)
		return 0;
	wait_look(r.t);
	if (thread_followed(r.t) && r.t->state != ABI_ONCPU)
		thread_found_running(task, r.t);
	return log_take_batch(&r);
}

/* Batches end at the ring's end, and may have to be taken again if the thread's time was settled meanwhile. */
ALWAYS void log_take_all(struct log_batch *batch, u32 on_probe)
{
	if (log_take_now(batch, on_probe) && log_take_now(batch, on_probe) && log_take_now(batch, on_probe))
		log_take_now(batch, on_probe);
}

/* In a program that cannot be preempted. */
ALWAYS void log_take(struct task_struct *task, struct thread *t, bool sampled)
{
	struct abi_log_state state;
	struct log_batch *batch;
	u32 zero = 0;

	if (!log_has_news(task, t, &state, sampled))
		return;
	batch = bpf_map_lookup_elem(&log_batches, &zero);
	if (batch)
		log_take_all(batch, 0);
}

/* In one that may be preempted; `reading` is set. */
ALWAYS void log_take_slowly(struct task_struct *task, struct thread *t)
{
	struct tag_log *known = bpf_task_storage_get(&tag_logs, task, 0, 0);
	struct abi_log_state state = {};

	if (known && log_has_news(task, t, &state, false))
		log_take_all(&known->batch, 1);
	if (state.closed)
		t->log_at = t->has_log = 0;
}

/* The thread is about to lose its memory, or to have it copied. */
ALWAYS void log_take_last(struct task_struct *task, struct thread *t)
{
	if (!t->log_at || t->reading)
		return;
	t->reading = 1;
	log_take_slowly(task, t);
	t->reading = 0;
}

/* How far the clock of the task's time namespace is ahead of the kernel's. */
ALWAYS u64 clock_ahead(struct task_struct *task)
{
	struct time_namespace *ns = BPF_CORE_READ(task, nsproxy, time_ns);

	if (!ns || !bpf_core_field_exists(ns->offsets))
		return 0;
	return BPF_CORE_READ(ns, offsets.monotonic.tv_sec) * 1000000000ULL +
	       BPF_CORE_READ(ns, offsets.monotonic.tv_nsec);
}

/* From here on the log tells; what it holds was before our time. */
ALWAYS void log_meet(struct task_struct *task, struct thread *t, u64 at)
{
	struct tag_log *known = bpf_task_storage_get(&tag_logs, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct abi_log_state state;

	t->log_at = t->has_log = 0;
	if (!known || user_read(&state, sizeof(state), (void *)at)) {
		COUNT(tag_logs_unreadable);
		return;
	}
	if (state.closed)
		return;
	__builtin_memset(known->made, 0, sizeof(known->made));
	t->log_tail = state.head;
	t->log_clock = clock_ahead(task);
	t->log_mm = (u64)task->mm;
	any_logs = 1;
	barrier();
	t->log_at = at;
	t->has_log = 1;
}

/* A child process has a copy of the log, at the same place. */
ALWAYS void log_inherit(struct task_struct *child, struct thread *to, const struct thread *from)
{
	if (!from->log_at || !bpf_task_storage_get(&tag_logs, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE))
		return;
	to->log_tail = from->log_tail;
	to->log_clock = from->log_clock;
	to->log_mm = (u64)child->mm;
	to->log_at = from->log_at;
	to->has_log = 1;
}

#endif
