/* What the workload says of itself: stalltag's USDT probes. */
#include "bpf/log_take.bpf.h"
#include "bpf/uprobe.bpf.h"
#include "bpf/wait.bpf.h"

/* The thread's record is that at `address` now; 0: none. */
ALWAYS void take_record(struct task_struct *task, struct thread *t, u64 address)
{
	struct context_scratch *s = scratch_of(task);
	u64 tag = 0;
	int result;

	if (!s)
		return;
	result = context_read(task, t, s, address, 0, ABI_TAG_STALLTAG, &tag);
	if (result == CONTEXT_KEEP)
		return;
	t->thread_tag = result == CONTEXT_TAG ? tag : 0;
	t->stalltag_held = result == CONTEXT_TAG;
	t->context_known = 1; /* from here on; what was held before is not known any more */
	thread_retag(task, t);
}

/* The current thread's record is that at `record` now; 0: none. `log`: where its changes before this one are, 0: nowhere. */
ALWAYS void take_change(u64 record, u64 log)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 now = bpf_ktime_get_ns();
	struct thread *t = changed_thread(task, record, now);
	bool first = n_tagged <= 0;

	if (!t)
		return;
	t->reading = 1;
	if (log && t->log_at != log)
		log_meet(task, t, log);
	else if (log)
		log_take_slowly(task, t);
	wait_look(t);
	take_record(task, t, record);
	if (first && t->thread_tag)
		announce_tagged(t, now);
	t->reading = 0;
}

/* stalltag:change. The first argument is the thread's record now, or NULL. */
SEC("usdt")
int on_tag_change(struct pt_regs *ctx)
{
	KEEP_OWN_STACK(ctx);
	take_change(PT_REGS_PARM1(ctx), 0);
	return 0;
}

/* stalltag:log. The same, and the second argument is the thread's log of its changes before this one. */
SEC("usdt")
int on_tag_log(struct pt_regs *ctx)
{
	KEEP_OWN_STACK(ctx);
	take_change(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx));
	return 0;
}

/* In the order of struct stalltag_losses. */
const volatile __u32 lost_counters[] = { ABI_COUNT_tags_too_deep, ABI_COUNT_tag_names_cut,
	                                 ABI_COUNT_tag_pops_stray, ABI_COUNT_tags_without_memory };
#define LOST_COUNTERS (sizeof(lost_counters) / sizeof(lost_counters[0]))

/* stalltag:lost(which). A tag could not be shown as it was pushed. */
SEC("usdt")
int on_tag_lost(struct pt_regs *ctx)
{
	u64 which = PT_REGS_PARM1(ctx);
	u32 counter;

	KEEP_OWN_STACK(ctx);
	if (which >= LOST_COUNTERS || (only_adopted && !thread_find(bpf_get_current_task_btf())))
		return 0;
	counter = lost_counters[which];
	if (counter < ABI_COUNTER_MAX)
		__sync_fetch_and_add(&counters[counter], 1);
	return 0;
}

/* stalltag:process(id, name). The calling thread's process, and all that comes of it, is tagged. */
SEC("usdt")
int on_tag_process(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 now = bpf_ktime_get_ns();
	bool first = n_tagged <= 0;
	struct context_scratch *s;
	struct thread *t;

	KEEP_OWN_STACK(ctx);
	if (only_adopted && !thread_find(task))
		return 0;
	t = thread_find_or_create(task, now, ABI_ONCPU);
	s = scratch_of(task);
	if (!t || !s)
		return 0;
	t->reading = 1;
	__builtin_memset(&s->tag, 0, sizeof(s->tag));
	s->tag.id = PT_REGS_PARM1(ctx);
	s->tag.source = ABI_TAG_PROCESS;
	if (bpf_probe_read_user_str(s->attrs, ABI_TAG_NAME_LEN, (void *)PT_REGS_PARM2(ctx)) > 0) {
		bpf_probe_read_kernel_str(s->tag.name, ABI_TAG_NAME_LEN, s->attrs);
		t->base_tag = tag_intern(&s->tag);
		t->own_base = 1;
	}
	wait_look(t);
	thread_retag(task, t);
	t->reading = 0;
	if (first)
		announce_tagged(t, now);
	return 0;
}
