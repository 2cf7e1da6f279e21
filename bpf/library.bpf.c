/* Probes on the entries of the functions in profiler/tracer/library_calls.c. */
#include "bpf/library.bpf.h"
#include "bpf/uprobe.bpf.h"

ALWAYS int begins(struct pt_regs *ctx, u32 cause)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	if (t)
		call_begin(t, cause, ctx->sp);
	return 0;
}

SEC("uprobe")
int on_gpu_call(struct pt_regs *ctx)
{
	KEEP_OWN_STACK(ctx);
	return begins(ctx, ABI_CAUSE_GPU_SYNC);
}

SEC("uprobe")
int on_collective_call(struct pt_regs *ctx)
{
	KEEP_OWN_STACK(ctx);
	return begins(ctx, ABI_CAUSE_COLLECTIVE);
}
