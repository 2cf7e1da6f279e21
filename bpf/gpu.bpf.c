/* GPUs, by the kernel's side of them: waits for a fence (gpu_fence), and for room in a ring or behind others' jobs (gpu_ring).
 *
 *   gpu_fence   dma_fence_wait_start … dma_fence_wait_end, which each driver's waits go through but for those below
 *   gpu_ring    a function of a driver that waits when its ring, its queue or its job slots are full; a fence that is waited for in there
 *               is how the driver waits for the room, and counts as that
 *
 * Whose fence it is, only a function of the driver's tells (dma_fence_ops.get_driver_name, get_timeline_name), which BPF cannot call. The
 * tracepoint itself does, for its record of the event: so a second program, of the classic kind, reads both names there. It is not what
 * begins the scope, as the kernel leaves such programs out while another BPF program runs on the CPU. Without it (no tracefs) user space
 * names the driver by the function's module. */
#include "bpf/detail.bpf.h"

/* The cause of a wait for a fence that begins or ends now. */
ALWAYS u32 fence_cause(const struct thread *t)
{
	return t->scopes.depth[ABI_CAUSE_GPU_RING] ? ABI_CAUSE_GPU_RING : ABI_CAUSE_GPU_FENCE;
}

/* What is left is whose ring a fence was waited for in, if it was. */
ALWAYS void fence_forget(struct thread *t)
{
	if (t->scopes.depth[ABI_CAUSE_GPU_RING]) {
		t->detail.known &= 1u << ABI_GPU_DRIVER;
	} else {
		t->detail.known = 0;
		t->detail.cause = 0;
	}
}

SEC("tp_btf/dma_fence_wait_start")
int BPF_PROG(on_fence_wait, struct dma_fence *fence)
{
	struct thread *t = thread_tagged();
	u64 function;

	if (!t)
		return 0;
	fence_forget(t);
	detail_number(&t->detail, ABI_GPU_CONTEXT, BPF_CORE_READ(fence, context));
	detail_number(&t->detail, ABI_GPU_SEQNO, BPF_CORE_READ(fence, seqno));
	function = (u64)BPF_CORE_READ(fence, ops, get_driver_name);
	if (function)
		detail_number(&t->detail, ABI_GPU_FUNCTION, function);
	t->detail.cause = fence_cause(t);
	scope_enter(t, ctx, fence_cause(t), 0);
	return 0;
}

SEC("tp_btf/dma_fence_wait_end")
int BPF_PROG(on_fence_waited, struct dma_fence *fence)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	if (!t)
		return 0;
	scope_leave(t, fence_cause(t));
	fence_forget(t);
	t->detail.text[0][0] = t->detail.text[1][0] = 0;
	return 0;
}

/* Before on_fence_wait or after it: each fills its own part. */
SEC("tp/dma_fence/dma_fence_wait_start")
int on_fence_names(struct trace_event_raw_dma_fence *record)
{
	struct thread *t = thread_tagged();
	u32 driver, timeline;

	if (!t)
		return 0;
	driver = record->__data_loc_driver & 0xffff;
	timeline = record->__data_loc_timeline & 0xffff;
	bpf_probe_read_kernel_str(t->detail.text[0], sizeof(t->detail.text[0]), (void *)record + driver);
	bpf_probe_read_kernel_str(t->detail.text[1], sizeof(t->detail.text[1]), (void *)record + timeline);
	return 0;
}

/* `driver`: enum abi_gpu_driver, 0: it may be any. */
ALWAYS void ring_begin(const void *ctx, u32 driver)
{
	struct thread *t = thread_tagged();

	if (!t)
		return;
	scope_enter(t, ctx, ABI_CAUSE_GPU_RING, 0);
	t->detail.cause = ABI_CAUSE_GPU_RING;
	t->detail.known = 0;
	if (driver)
		detail_number(&t->detail, ABI_GPU_DRIVER, driver);
}

ALWAYS void ring_end(void)
{
	scope_end(ABI_CAUSE_GPU_RING);
}

ALWAYS void fence_begin(const void *ctx)
{
	scope_begin(ctx, ABI_CAUSE_GPU_FENCE, 0);
}

ALWAYS void fence_end(void)
{
	scope_end(ABI_CAUSE_GPU_FENCE);
}

/* --- waits for fences that have no tracepoint of their own ------------------------------------------------------------ */

/* The first of several. */
ON_CALL(fence_any, dma_fence_wait_any_timeout, fence_begin(ctx), fence_end())

/* Vulkan's waits. */
ON_CALL(syncobj_wait, drm_syncobj_wait_ioctl, fence_begin(ctx), fence_end())

ON_CALL(syncobj_timeline_wait, drm_syncobj_timeline_wait_ioctl, fence_begin(ctx), fence_end())

/* i915 waits for its own requests without asking the fence. */
SEC("tp_btf/i915_request_wait_begin")
int BPF_PROG(on_i915_wait)
{
	struct thread *t = thread_tagged();

	if (t)
		scope_enter(t, ctx, fence_cause(t), 0);
	return 0;
}

SEC("tp_btf/i915_request_wait_end")
int BPF_PROG(on_i915_waited)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	if (t)
		scope_leave(t, fence_cause(t));
	return 0;
}

/* Long-running jobs signal a word of memory. */
ON_CALL(xe_wait, xe_wait_user_fence_ioctl, fence_begin(ctx), fence_end())

/* ROCm's signals. Its runtime has threads of its own that wait there as long as the process lives, so where the library's calls are known only
 * those who are in one wait for the GPU. */
ALWAYS void signal_begin(const void *ctx)
{
	struct thread *t = any_gpu_calls ? thread_find(bpf_get_current_task_btf()) : NULL;

	if (!any_gpu_calls || (t && t->n_calls))
		fence_begin(ctx);
}

ON_CALL(kfd_wait, kfd_wait_on_events, signal_begin(ctx), fence_end())

/* --- room, or one's turn ------------------------------------------------------------------------------------------------ */

/* A queue's end: its jobs wait behind those of others. */
ON_CALL(sched_flush, drm_sched_entity_flush, ring_begin(ctx, 0), ring_end())

ON_CALL(virtio_queue, virtio_gpu_queue_fenced_ctrl_buffer, ring_begin(ctx, ABI_GPU_VIRTIO), ring_end())

/* i915's rings. */
ON_CALL(i915_ring, wait_for_space, ring_begin(ctx, ABI_GPU_I915), ring_end())

/* xe's work queue to the GPU's firmware. */
ON_CALL(xe_queue, wq_wait_for_space, ring_begin(ctx, ABI_GPU_XE), ring_end())

/* … and its messages. */
ON_CALL(xe_send, xe_guc_ct_send, ring_begin(ctx, ABI_GPU_XE), ring_end())

ON_CALL(nouveau_ring, nouveau_dma_wait, ring_begin(ctx, ABI_GPU_NOUVEAU), ring_end())

/* amdgpu: a context's own jobs, as many as it may have at once; … */
ON_CALL(amdgpu_slot, amdgpu_ctx_wait_prev_fence, ring_begin(ctx, ABI_GPU_AMDGPU), ring_end())

/* … room in a ring; … */
ON_CALL(amdgpu_ring, amdgpu_ring_alloc, ring_begin(ctx, ABI_GPU_AMDGPU), ring_end())

/* … and a ring's progress, looked at in a loop: that is on the CPU. */
ON_CALL(amdgpu_poll, amdgpu_fence_wait_polling, ring_begin(ctx, ABI_GPU_AMDGPU), ring_end())
