/* Probes on the entry and the return of the functions in profiler/tracer/library_calls.c; on the entry alone of those that throw. */
#include "bpf/library.bpf.h"
#include "bpf/uprobe.bpf.h"

/* `may_hook`: there may be a probe on its return. */
ALWAYS int begins(struct pt_regs *ctx, u32 cause, bool may_hook)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_find(task);

	if (t)
		call_begin(task, t, cause, may_hook && returns_hooked, ctx->sp);
	return 0;
}

SEC("uprobe")
int on_gpu_call(struct pt_regs *ctx)
{
	KEEP_OWN_STACK(ctx);
	return begins(ctx, ABI_CAUSE_GPU_SYNC, true);
}

SEC("uprobe")
int on_collective_call(struct pt_regs *ctx)
{
	KEEP_OWN_STACK(ctx);
	return begins(ctx, ABI_CAUSE_COLLECTIVE, true);
}

SEC("uprobe")
int on_collective_throws(struct pt_regs *ctx)
{
	KEEP_OWN_STACK(ctx);
	return begins(ctx, ABI_CAUSE_COLLECTIVE, false);
}

/* The return address is off the stack by now. */
SEC("uretprobe")
int on_library_return(struct pt_regs *ctx)
{
	struct thread *t;

	KEEP_OWN_STACK(ctx);
	t = thread_find(bpf_get_current_task_btf());
	if (t && t->n_calls)
		calls_drop_below(t, ctx->sp);
	return 0;
}
