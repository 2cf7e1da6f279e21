/* The contexts and stacks of threads that sleep, read when their process is adopted: a tag that is held through a long wait
 * is seen at once, not when the wait ends. A sleeping thread's record does not change, and if the thread was
 * switched while it was read, what was read is not used. */
#define CONTEXT_OF_OTHERS
#include "bpf/log.bpf.h"
#include "bpf/capture.bpf.h"

#define SETTLE_TRIES 3
#define BATCHES      3 /* of entries, as many as a log holds and one more */

/* Whether the thread has slept all the while since `word` was read. Its state alone does not tell: a switch-in may go unseen. */
ALWAYS bool still_asleep(struct task_struct *task, const struct thread *t, u64 word)
{
	return t->word == word && t->state == ABI_SLEEP && !t->wake_ns && task_state_now(task) == ABI_SLEEP;
}

/* A buffer that could not be given to its thread; this program may not use the stack of free buffers itself. */
ALWAYS void buffer_orphan(u32 index)
{
	u8 one = 1;

	if (bpf_map_update_elem(&orphan_buffers, &index, &one, BPF_ANY))
		COUNT(slots_lost);
}

/* The buffer is the walk's own from here until it is given to the thread: nobody else writes to it, even if the thread
 * wakes or dies meanwhile. */
ALWAYS void copy_stack(struct task_struct *task, struct thread *t, u64 word)
{
	struct captured captured;
	struct stack_buffer *buffer;
	u32 index;

	if (t->reserved_buffer == ABI_NO_BUFFER || t->stack_buffer != ABI_NO_BUFFER)
		return;
	index = __sync_lock_test_and_set(&t->reserved_buffer, ABI_NO_BUFFER);
	buffer = buffer_at(index);
	if (!buffer)
		return;
	capture_user(task, t, buffer, &captured);
	if (still_asleep(task, t, word) && buffer_keep(t, buffer, index, &captured)) {
		if (still_asleep(task, t, word))
			return;
		index = __sync_lock_test_and_set(&t->stack_buffer, ABI_NO_BUFFER);
	}
	if (index == ABI_NO_BUFFER)
		return;
	buffer_unpark(t);
	buffer_orphan(index);
}

/* Scratch memory of the walk; only one runs at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct context_scratch);
} walk_scratch SEC(".maps");

ALWAYS void read_context(struct task_struct *task, struct thread *t, u64 word)
{
	struct context_found found;
	u64 slept = t->sleep_ns;
	u32 zero = 0;

	if (t->reading || !context_find(task, t, bpf_map_lookup_elem(&walk_scratch, &zero), &found) ||
	    !still_asleep(task, t, word))
		return;
	context_take(task, t, &found);
	if (t->state != ABI_SLEEP || t->sleep_ns != slept)
		t->context_known = 0; /* it has run meanwhile: it looks for itself */
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct tag_log);
} walk_log SEC(".maps");

/* The rows that were read are those that the entries refer to, unless the probe has fired since. */
ALWAYS bool rows_stand(const struct log_reader *r)
{
	struct task_struct *task = r->task;
	struct abi_log_state state;

	return !user_read(&state, sizeof(state), (void *)r->t->log_at) &&
	       state.fires == r->batch->head.state.fires;
}

/* What a row's tag is; 1 ends the loop. */
ALWAYS long key_row(u32 i, struct log_reader *r)
{
	if (!r->batch->seen)
		return 1;
	log_row_tag(r, log_next_row(r->batch));
	return 0;
}

LOOP_OF(key_row, struct log_reader)

/* The entries behind those that were read last; 1 ends the loop. */
ALWAYS long read_on(u32 i, struct log_reader *r)
{
	if (!log_read(r, r->batch->tail + r->batch->n))
		return 1;
	log_sum(r);
	return 0;
}

LOOP_OF(read_on, struct log_reader)

/* Settles the time of a thread that runs, up to now. Its tag stays as it is and its entries unread for itself: when it
 * reads them, they are older than what is settled. False: it was switched meanwhile, or its log has gone on. */
ALWAYS bool settle_by_log(struct log_reader *r)
{
	struct log_batch *b = r->batch;
	u64 word = r->t->word, seen, change;

	barrier();
	b->tail = r->t->log_tail;
	b->n = 0;
	log_begin(r, word);
	read_on_loop(BATCHES, r);
	b->sums[b->row & (ABI_LOG_ROWS * 2 - 1)] += since(b->now_ns, b->at_ns);
	change = log_change(b);
	seen = b->seen;
	key_row_loop(ABI_LOG_ROWS, r);
	if (!rows_stand(r) || !thread_settle_running(r->task, r->t, word, change, b->now_ns))
		return false;
	r->t->log_settled_ns = b->now_ns;
	b->seen = seen;
	log_charge(r);
	return true;
}

/* Tries to; 1 ends the loop. */
ALWAYS long settle_try(u32 i, struct log_reader *r)
{
	if (!r->t->log_at || r->t->state != ABI_ONCPU || !thread_followed(r->t))
		return 1;
	__builtin_memset(r->known->made, 0, sizeof(r->known->made));
	return settle_by_log(r);
}

LOOP_OF(settle_try, struct log_reader)

ALWAYS void settle_runner(struct task_struct *task, struct thread *t)
{
	struct log_reader r = { .task = task, .t = t };
	u32 zero = 0;

	r.known = bpf_map_lookup_elem(&walk_log, &zero);
	if (!r.known)
		return;
	r.batch = &r.known->batch;
	settle_try_loop(SETTLE_TRIES, &r);
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct rw_semaphore {
	struct {
		s64 counter;
	} count; /* absent with CONFIG_PREEMPT_RT */
};

struct mm_struct___locked {
	struct rw_semaphore mmap_lock;
};
#pragma clang attribute pop

/* Bits of the count: a writer has it, waits for it, or is to have it next. Who wants to read then waits for that writer. */
#define RWSEM_WRITERS 7

/* Whether another thread changes the process's mappings, or is about to. That may take as long as a server of a network's file system does
 * not answer, and who waits for it here keeps all BPF programs of the host that may sleep from being freed. PREEMPT_RT has no such count. */
ALWAYS bool mappings_change(struct task_struct *task)
{
	struct mm_struct___locked *mm = (void *)task->mm;

	return mm && HAS_FIELD(mm, mmap_lock.count) &&
	       BPF_CORE_READ(mm, mmap_lock.count.counter) & RWSEM_WRITERS;
}

SEC("iter.s/task")
int on_iter_context(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *t;
	u64 word;

	if (!task || serves_others(task))
		return 0;
	t = thread_find(task);
	if (!t || mappings_change(task))
		return 0;
	if (iter_mode & ABI_ITER_LOGS) {
		settle_runner(task, t);
		return 0;
	}
	word = t->word;
	if (!still_asleep(task, t, word))
		return 0;
	copy_stack(task, t, word);
	if (t->watches_context && !t->context_known)
		read_context(task, t, word);
	return 0;
}
