/* The contexts and stacks of threads that sleep, read when their process is adopted: a tag that is held through a long wait
 * is seen at once, not when the wait ends. A sleeping thread's record does not change, and if the thread was
 * switched while it was read, what was read is not used. */
#define CONTEXT_OF_OTHERS
#include "bpf/context.bpf.h"
#include "bpf/capture.bpf.h"

/* Whether the thread has slept all the while since `word` was read. */
ALWAYS bool still_asleep(const struct thread *t, u64 word)
{
	return t->word == word && t->state == ABI_SLEEP;
}

/* A slot that could not be given to its thread; this program may not use the stack of free slots itself. */
ALWAYS void slot_orphan(u32 index)
{
	u8 one = 1;

	if (bpf_map_update_elem(&orphan_slots, &index, &one, BPF_ANY))
		COUNT(slots_lost);
}

/* The slot is the walk's own from here until it is given to the thread: nobody else writes to it, even if the thread
 * wakes or dies meanwhile. */
ALWAYS void copy_stack(struct task_struct *task, struct thread *t, u64 word)
{
	struct captured captured;
	struct stack_slot *slot;
	u32 index;

	if (t->reserved_slot == ABI_NO_SLOT || t->stack_slot != ABI_NO_SLOT)
		return;
	index = __sync_lock_test_and_set(&t->reserved_slot, ABI_NO_SLOT);
	slot = slot_at(index);
	if (!slot)
		return;
	capture_user(task, t, slot, &captured);
	if (still_asleep(t, word)) {
		slot_keep(t, index, &captured);
		if (still_asleep(t, word))
			return;
		index = __sync_lock_test_and_set(&t->stack_slot, ABI_NO_SLOT);
	}
	if (index == ABI_NO_SLOT)
		return;
	slot_unpark(t);
	slot_orphan(index);
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
	if (!t || t->state != ABI_SLEEP)
		return 0;
	word = t->word;
	copy_stack(task, t, word);
	if (!t->watches_context || t->context_known)
		return 0;
	thread_read_context(task, t);
	if (!still_asleep(t, word))
		t->context_known = 0;
	return 0;
}
