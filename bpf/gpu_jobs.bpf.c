/* What becomes of GPUs' jobs, for each: whose it was, and how long it took to hand it over (submit), stood in a queue (queue), waited for
 * other jobs (wait), and was with the device (run).
 *
 *              drm_ioctl       drm_sched_job         drm_sched_job_wait_dep     dma_fence_signaled      drm_run_job     dma_fence_signaled
 *              begins          (queued)              (not before that fence)    (that fence)            (handed over)   (its own fence)
 *   drm_sched  |----submit-----|--------queue--------|----------wait------------|---------queue---------|-----run-------|
 *
 * amdgpu, xe, nouveau since Linux 6.8 and the smaller drivers have that scheduler; in 6.16 its tracepoints got other names. A job is known by
 * the fence that is signaled when it is over. virtio_gpu tells when a command gets its place in the ring and when the driver takes the answer;
 * i915 when a request is complete with the driver, of which its fence tells the end, but not, as it is usually built, when the device has it.
 * Jobs that programs hand to the device themselves (CUDA, ROCm's queues) are not seen. No hook tells of preemption. */
#include "bpf/gpu_waits.bpf.h"
#include "bpf/requests.bpf.h"

/* --- the thread ------------------------------------------------------------------------------------------------------------ */

ALWAYS void call_begins(void)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	if (!t)
		return;
	t->gpu.begin_ns = bpf_ktime_get_ns();
	t->gpu.room_ns = 0;
	t->gpu.generation = hot_generation;
}

ALWAYS void call_ends(void)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	if (t)
		t->gpu.begin_ns = 0;
}

ON_CALL(gpu_ioctl, drm_ioctl, call_begins(), call_ends())

/* The current thread looks for room in the ring for its next job, from now on. */
SEC("fentry/virtio_gpu_queue_fenced_ctrl_buffer")
int BPF_PROG(on_virtio_room)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	if (t)
		t->gpu.room_ns = bpf_ktime_get_ns();
	return 0;
}

/* The current thread has handed over a job. */
NOW_AND_THEN void job_begins(struct gpu_job *job)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = serves_others(task) ? NULL : thread_find(task);

	job->queued_ns = bpf_ktime_get_ns();
	job->begin_ns = job->queued_ns;
	job->generation = hot_generation;
	job->tag = t ? tag_in_call(task, t) : 0;
	if (!job->tag)
		job->tag = ABI_NOBODYS_TAG;
	if (!t || !t->gpu.begin_ns || t->gpu.generation != hot_generation)
		return;
	job->known |= 1 << ABI_GPU_SUBMIT;
	job->begin_ns = t->gpu.begin_ns;
	t->gpu.begin_ns = job->queued_ns; /* the same call may hand over another */
}

ALWAYS void job_keep(u64 key, const struct gpu_job *job)
{
	if (bpf_map_update_elem(&gpu_jobs, &key, job, BPF_ANY))
		COUNT(gpu_jobs_unseen);
}

/* --- its end ---------------------------------------------------------------------------------------------------------------- */

/* One that is given up in the queue never ran. */
ALWAYS void job_measure(struct abi_gpu_job *told, const struct gpu_job *job, u64 now)
{
	u64 out_ns = job->run_ns ? job->run_ns : now;

	told->ns[ABI_GPU_SUBMIT] = since(job->queued_ns, job->begin_ns);
	told->ns[ABI_GPU_WAIT] = job->waited_ns;
	told->ns[ABI_GPU_QUEUE] = since(since(out_ns, job->queued_ns), job->waited_ns);
	told->ns[ABI_GPU_RUN] = since(now, out_ns);
	told->total_ns = since(now, job->begin_ns);
}

/* It is over; `error` below 0: it failed. */
NOW_AND_THEN void job_ends(u64 key, struct gpu_job *job, int error)
{
	struct abi_gpu_job *told = bpf_ringbuf_reserve(&events, sizeof(*told), 0);
	void *ledger = ledger_now();
	u64 now = bpf_ktime_get_ns();

	job_waits_no_more(key, job, now);
	if (!told) {
		COUNT(gpu_jobs_unseen);
	} else {
		told->kind = ABI_EVENT_GPU_JOB;
		told->known = job->known;
		told->tag = job->tag;
		told->window = ledger ? ledger_window(ledger) : 0;
		told->error = error;
		told->unused = 0;
		__builtin_memcpy(told->driver, job->driver, sizeof(told->driver));
		__builtin_memcpy(told->ring, job->ring, sizeof(told->ring));
		job_measure(told, job, now);
		bpf_ringbuf_submit(told, ring_wake(&events));
	}
	bpf_map_delete_elem(&gpu_jobs, &key);
}

enum dma_fence_flag_bits { DMA_FENCE_FLAG_SIGNALED_BIT }; /* whatever it is here: CO-RE looks it up */

/* Whether a fence with these flags is signaled. */
ALWAYS bool flags_signaled(u64 flags)
{
	u32 bit = 0;

	if (bpf_core_enum_value_exists(enum dma_fence_flag_bits, DMA_FENCE_FLAG_SIGNALED_BIT))
		bit = bpf_core_enum_value(enum dma_fence_flag_bits, DMA_FENCE_FLAG_SIGNALED_BIT);
	return flags >> bit & 1;
}

/* Of all drivers. */
SEC("tp_btf/dma_fence_signaled")
int BPF_PROG(on_fence_signaled, struct dma_fence *fence)
{
	u64 key = as_number(fence);
	struct gpu_job *job = job_known(key);

	if (job)
		job_ends(key, job, BPF_CORE_READ(fence, error));
	if (any_gpu_waiters)
		waiters_go_on(key, bpf_ktime_get_ns());
	return 0;
}

/* --- drm_sched -------------------------------------------------------------------------------------------------------------- */

/* The fence that is signaled when the job is over. */
ALWAYS u64 fence_of_job(struct drm_sched_job *job)
{
	struct drm_sched_fence *fences = BPF_CORE_READ(job, s_fence);

	return fences ? (u64)fences + bpf_core_field_offset(struct drm_sched_fence, finished) : 0;
}

/* Before Linux 5.18 it is not known which device the scheduler is of. */
ALWAYS void names_of_scheduler(struct gpu_job *job, struct drm_gpu_scheduler *scheduler)
{
	struct device___driven *device;

	bpf_probe_read_kernel_str(job->ring, sizeof(job->ring), BPF_CORE_READ(scheduler, name));
	if (!HAS_FIELD(scheduler, dev)) {
		__builtin_memcpy(job->driver, "drm_sched", sizeof("drm_sched"));
		return;
	}
	device = (void *)BPF_CORE_READ(scheduler, dev);
	bpf_probe_read_kernel_str(job->driver, sizeof(job->driver), BPF_CORE_READ(device, driver, name));
}

ALWAYS void job_queued(struct drm_sched_job *queued)
{
	struct gpu_job job = { .known = 1 << ABI_GPU_QUEUE | 1 << ABI_GPU_WAIT | 1 << ABI_GPU_RUN };
	u64 key = fence_of_job(queued);

	if (!key)
		return;
	job_begins(&job);
	names_of_scheduler(&job, BPF_CORE_READ(queued, sched));
	job_keep(key, &job);
}

ALWAYS void job_runs(struct drm_sched_job *run)
{
	u64 key = fence_of_job(run);
	struct gpu_job *job = job_known(key);

	if (!job)
		return;
	job->run_ns = bpf_ktime_get_ns();
	job_waits_no_more(key, job, job->run_ns);
}

/* `fence`: 0: for none, and what it waited for is over as well. */
ALWAYS void job_waits(struct drm_sched_job *waits, u64 fence)
{
	u64 key = fence_of_job(waits), now = bpf_ktime_get_ns();
	struct gpu_job *job = job_known(key);

	if (!job)
		return;
	if (fence)
		job_waits_for(key, job, fence, now);
	/* Signaled before the entry was there, the fence did not find the job. */
	if (!fence || flags_signaled(BPF_CORE_READ((struct dma_fence *)fence, flags)))
		job_waits_no_more(key, job, now);
}

SEC("tp_btf/drm_sched_job_queue")
int BPF_PROG(on_job_queue, struct drm_sched_job *job)
{
	job_queued(ARGUMENT(job));
	return 0;
}

SEC("tp_btf/drm_sched_job_run")
int BPF_PROG(on_job_run, struct drm_sched_job *job)
{
	job_runs(ARGUMENT(job));
	return 0;
}

SEC("tp_btf/drm_sched_job_unschedulable")
int BPF_PROG(on_job_unschedulable, struct drm_sched_job *job, struct dma_fence *fence)
{
	job_waits(ARGUMENT(job), as_number(fence));
	return 0;
}

/* Their names before Linux 6.16. */
SEC("tp_btf/drm_sched_job")
int BPF_PROG(on_job_pushed, struct drm_sched_job *job)
{
	job_queued(ARGUMENT(job));
	return 0;
}

SEC("tp_btf/drm_run_job")
int BPF_PROG(on_run_job, struct drm_sched_job *job)
{
	job_runs(ARGUMENT(job));
	return 0;
}

#define FENCE_DONT_PIPELINE (1 << 3) /* in the flags of drm_sched's fences, before 6.16 */

/* The fence that is waited for in a dependency's place, 0: none. The tracepoint comes before the scheduler looks at the dependency: it passes over
 * one that is signaled, or the entity's own, and where it is a job of the same scheduler it waits until that is handed to the device alone. */
ALWAYS u64 fence_in_place_of(struct drm_sched_job *waits, struct dma_fence *fence)
{
	struct drm_sched_fence *own = BPF_CORE_READ(waits, s_fence), *of = NULL;
	u64 context = BPF_CORE_READ(fence, context), own_context = BPF_CORE_READ(own, finished.context);
	u64 ops = as_number(BPF_CORE_READ(fence, ops)), flags = BPF_CORE_READ(fence, flags);

	if (context == own_context || context + 1 == own_context)
		return 0;
	if (ops == as_number(BPF_CORE_READ(own, finished.ops)))
		of = (void *)fence - bpf_core_field_offset(struct drm_sched_fence, finished);
	else if (ops == as_number(BPF_CORE_READ(own, scheduled.ops)))
		of = (void *)fence - bpf_core_field_offset(struct drm_sched_fence, scheduled);
	if (of && BPF_CORE_READ(of, sched) == BPF_CORE_READ(own, sched) && !(flags & FENCE_DONT_PIPELINE)) {
		fence = (void *)of + bpf_core_field_offset(struct drm_sched_fence, scheduled);
		flags = BPF_CORE_READ(of, scheduled.flags);
	}
	return flags_signaled(flags) ? 0 : (u64)fence;
}

SEC("tp_btf/drm_sched_job_wait_dep")
int BPF_PROG(on_job_wait_dep, struct drm_sched_job *job, struct dma_fence *fence)
{
	struct drm_sched_job *waits = ARGUMENT(job);

	job_waits(waits, fence_in_place_of(waits, ARGUMENT(fence)));
	return 0;
}

/* --- i915 --------------------------------------------------------------------------------------------------------------------- */

ALWAYS u64 fence_of_i915(struct i915_request *rq)
{
	return as_number(rq) + bpf_core_field_offset(struct i915_request, fence);
}

SEC("tp_btf/i915_request_add")
int BPF_PROG(on_i915_add, struct i915_request *rq)
{
	struct gpu_job job = { .driver = "i915" };
	struct i915_request *request = ARGUMENT(rq);

	job_begins(&job);
	bpf_probe_read_kernel_str(job.ring, sizeof(job.ring),
	                          (void *)BPF_CORE_READ(request, engine) +
	                                  bpf_core_field_offset(struct intel_engine_cs, name));
	job_keep(fence_of_i915(rq), &job);
	return 0;
}

/* Only where i915 was built with CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS. It comes again for one that was taken from the device meanwhile. */
SEC("tp_btf/i915_request_in")
int BPF_PROG(on_i915_in, struct i915_request *rq)
{
	struct gpu_job *job = job_known(fence_of_i915(rq));

	if (!job || job->run_ns)
		return 0;
	job->run_ns = bpf_ktime_get_ns();
	job->known |= 1 << ABI_GPU_QUEUE | 1 << ABI_GPU_RUN;
	return 0;
}

/* --- virtio_gpu --------------------------------------------------------------------------------------------------------------- */

/* Where the answer to a command goes, by where the command is: right behind its virtio_gpu_vbuffer. 0: there is none, as for the cursor. */
ALWAYS u64 answer_of(u64 command)
{
	struct virtio_gpu_vbuffer *buffer = (void *)(command - bpf_core_type_size(struct virtio_gpu_vbuffer));

	if ((u64)BPF_CORE_READ(buffer, buf) != command || !BPF_CORE_READ(buffer, resp_size))
		return 0;
	return (u64)BPF_CORE_READ(buffer, resp_buf);
}

/* It waited for room since room_ns. */
ALWAYS void job_found_room(struct gpu_job *job)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	job->run_ns = job->queued_ns;
	job->known |= 1 << ABI_GPU_RUN;
	if (!t || t->gpu.room_ns < job->begin_ns || !(job->known & 1 << ABI_GPU_SUBMIT))
		return;
	job->known |= 1 << ABI_GPU_QUEUE;
	job->queued_ns = t->gpu.room_ns;
}

SEC("tp_btf/virtio_gpu_cmd_queue")
int BPF_PROG(on_virtio_queued, struct virtqueue *queue, struct virtio_gpu_ctrl_hdr *command)
{
	struct gpu_job job = { .driver = "virtio_gpu" };
	u64 key = answer_of(as_number(command));
	struct virtqueue *ring = ARGUMENT(queue);

	if (!key)
		return 0;
	job_begins(&job);
	job_found_room(&job);
	bpf_probe_read_kernel_str(job.ring, sizeof(job.ring), BPF_CORE_READ(ring, name));
	job_keep(key, &job);
	return 0;
}

/* Whatever its error is: a command has no errno. */
SEC("tp_btf/virtio_gpu_cmd_response")
int BPF_PROG(on_virtio_answered, struct virtqueue *queue, struct virtio_gpu_ctrl_hdr *answer)
{
	u64 key = as_number(answer);
	struct virtio_gpu_ctrl_hdr *said = (void *)key;
	struct gpu_job *job = job_known(key);

	if (job)
		job_ends(key, job, BPF_CORE_READ(said, type) >= VIRTIO_GPU_RESP_ERR ? -1 : 0);
	return 0;
}
