/* The contexts of threads that sleep, read when their process is adopted: a tag that is held through a long wait
 * is seen at once, not when the wait ends. A sleeping thread's record does not change, and if the thread was
 * switched while it was read, what was read is not used. */
#define CONTEXT_OF_OTHERS
#include "bpf/context.bpf.h"

SEC("iter.s/task")
int on_iter_context(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *t;
	u64 word;

	if (!task || (task->flags & PF_KTHREAD))
		return 0;
	t = thread_find(task);
	if (!t || !t->watches_context || t->context_known || word_state(t->word) != ABI_SLEEP)
		return 0;
	word = t->word;
	thread_read_context(task, t);
	if (t->word != word)
		t->context_known = 0;
	return 0;
}
