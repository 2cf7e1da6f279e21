/* DMA: mapping calls that take long.
 *
 *   a mapping call begins      its begin is noted: of a thread with a tag in its storage, else on this CPU
 *   … ends                     if it was slow, its time on the CPU goes to the ledger, with a sample
 *
 * The request that a call is for bears it, too (bpf/dma.bpf.h). A host's packets are mapped by the same functions, and far more often: of
 * calls that are neither for a request nor by a thread with a tag nothing is noted, nor of those for a packet that a thread with a tag sends.
 */
#include "bpf/dma.bpf.h"
#include "bpf/issued.bpf.h"

/* Of NVMe's own commands, which have no disk, nobody waits with a tag. (6.12's verifier wants to see that a tracepoint's argument
 * is not NULL.) */
SEC("tp_btf/nvme_setup_cmd")
int BPF_PROG(on_nvme_setup, struct request *rq)
{
	if (rq && rq->q->disk)
		prepares(rq, true);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_dma_issue, struct request *rq)
{
	prepares(rq, false);
	return 0;
}

/* One that no thread with a tag is in, by what it interrupted. */
struct mapping_here {
	struct mapping call;
	u64 switches; /* of the task that is in it, or that it interrupts */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LEVELS);
	__type(key, u32);
	__type(value, struct mapping_here);
} mappings SEC(".maps");

ALWAYS struct mapping_here *mapping_here(u32 depth)
{
	u32 level = level_of(depth);

	return bpf_map_lookup_elem(&mappings, &level);
}

/* A clock that stands still while the thread is on no CPU; only differences of it mean anything. */
ALWAYS u64 oncpu_clock(const struct thread *t, u64 now)
{
	return t->exec_mark - t->in_ns + now;
}

/* Of a preemption count: soft interrupts are switched off. */
#define SOFT_INTERRUPTS_OFF 0xfe00

/* The begin of a call for the request that `prepared` has (NULL: none), which no thread with a tag is in. */
ALWAYS void mapping_here_begins(struct task_struct *current, u64 frame, u32 depth,
                                const struct prepared *prepared)
{
	struct mapping_here *here = prepared && prepared->depth == depth ? mapping_here(depth) : NULL;

	if (!here)
		return;
	here->call.frame = frame;
	here->call.begin_ns = bpf_ktime_get_ns();
	here->switches = switches_of(current);
}

ALWAYS void mapping_begins(u64 frame)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct prepared *prepared = prepared_upon(current);
	struct thread *t = serves_others(current) ? NULL : thread_find(current);
	u32 count;
	u64 now;

	if ((!prepared && !t) || !preempt_count_from_rq)
		return; /* what an interrupt maps could not be told from what the thread does */
	count = preemption_count(current);
	if (!t || count & interrupt_bits || !thread_sums(t)->tag) {
		mapping_here_begins(current, frame, count & interrupt_bits, prepared);
		return;
	}
	if (count & SOFT_INTERRUPTS_OFF && !(prepared && prepared->begins))
		return; /* a packet: the network sends so, others who map do not */
	now = bpf_ktime_get_ns();
	/* A call within a call belongs to it: its frame lies lower. An outer one whose end was not seen (programs that interrupt
	 * themselves are not run) is overwritten by the next that is not below it. */
	if (mapping_goes_on(t) && frame < t->mapping.frame)
		return;
	if (!t->scopes.depth[ABI_CAUSE_DMA_MAP])
		scope_enter(t, (void *)frame, ABI_CAUSE_DMA_MAP, 0);
	t->mapping = (struct mapping){ .frame = frame,
		                       .begin_ns = now,
		                       .oncpu = oncpu_clock(t, now),
		                       .queued = queue_clock(current),
		                       .generation = hot_generation };
}

/* Of the stack in a hook's program: that function, the program, and what calls it. */
#define OWN_FRAMES 3

/* What the time on the CPU, and the stack of the call, are told as. */
ALWAYS void mapping_event(void *ctx, struct task_struct *task, struct thread *t, struct stack_buffer *buffer,
                          const struct abi_ledger_key *key, u64 ns, u64 now)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct abi_event *event;
	struct captured captured;
	void *ledger = ledger_now();
	long bytes;

	if (!ledger || !regs)
		return;
	event = &buffer->event;
	event_head(event, task, t, ABI_EVENT_CPU, key->tag);
	event->time_ns = now;
	event->duration_ns = ns;
	event->weight_ns = wait_weight(ns, threshold_ns[ABI_WAITS_STALL]);
	event->dev = key->dev;
	event->state = ABI_CPU_STALL;
	event->cause = key->cause;
	event->window = ledger_window(ledger);
	bytes = bpf_get_stack(ctx, event->kstack, sizeof(event->kstack), OWN_FRAMES);
	event->kstack_len = bytes > 0 ? (u64)bytes / 8 : 0;
	capture_user(task, t, buffer, &captured);
	event->flags = captured.flags;
	__sync_fetch_and_add(&ring_bytes[ABI_WAITS_STALL],
	                     event_send(buffer, captured.len, captured.n_python));
}

/* Its buffer is one of those for sleeps, not the CPU's: the thread may be preempted here. */
ALWAYS void mapping_sample(void *ctx, struct task_struct *task, struct thread *t,
                           const struct abi_ledger_key *key, u64 ns, u64 now)
{
	struct stack_buffer *buffer;
	u32 index;

	if (bpf_map_pop_elem(&free_buffers, &index)) {
		COUNT(slots_exhausted);
		return;
	}
	buffer = buffer_at(index);
	if (buffer)
		mapping_event(ctx, task, t, buffer, key, ns, now);
	if (bpf_map_push_elem(&free_buffers, &index, BPF_ANY))
		COUNT(slots_lost);
}

/* What of the thread's call is told: time on the CPU. Its sleeps have been told by themselves. */
NOW_AND_THEN void mapping_told(void *ctx, struct task_struct *task, struct thread *t,
                               struct abi_ledger_key *key, u64 ns)
{
	u64 now = bpf_ktime_get_ns();

	ledger_add(key, ns, 1, 0);
	lot_draw(t, now);
	if (wait_kept(t, ns, ns, threshold_ns[ABI_WAITS_STALL]))
		mapping_sample(ctx, task, t, key, ns, now);
}

/* The whole of a slow call. */
ALWAYS void mapping_was_slow(void *ctx, struct task_struct *task, struct thread *t, u32 dev, u64 ns)
{
	u32 cause = t->mapping.bounced ? ABI_CAUSE_DMA_BOUNCE : ABI_CAUSE_DMA_MAP, scope = scope_cause(t);
	struct abi_ledger_key key;

	key_of(&key, t, thread_sums(t)->tag, ABI_CPU_STALL);
	key.cause = cause > scope ? cause : scope;
	key.dev = dev;
	mapping_told(ctx, task, t, &key, ns);
}

/* The clock of on-CPU samples ticked in the thread's call, which was not slow: that is told as anywhere else (perf.bpf.c). */
ALWAYS void mapping_was_sampled(void *ctx, struct task_struct *task, struct thread *t)
{
	struct request *rq = NULL;
	u32 dev = 0, stalled = request_under_way(t, &dev, &rq);
	struct abi_ledger_key key;

	if (scope_cause_on_cpu(t) > stalled) {
		stalled = scope_cause_on_cpu(t);
		dev = scope_dev(t, stalled);
	}
	if (!stalled && !samples_oncpu)
		return;
	key_of(&key, t, thread_sums(t)->tag, ABI_CPU_STALL);
	key.cause = stalled;
	key.dev = dev;
	mapping_told(ctx, task, t, &key, cpu_period_ns);
}

/* How long the thread's call took, less what it waited for a CPU; *oncpu: of that on one. */
ALWAYS u64 mapping_length(struct task_struct *task, struct thread *t, u64 now, u64 *oncpu)
{
	u64 whole = since(now, t->mapping.begin_ns);

	*oncpu = at_most(oncpu_clock(t, now) - t->mapping.oncpu, whole);
	return since(whole, queue_clock(task) - t->mapping.queued);
}

/* The end of a call that no thread with a tag was in. Returns how long it took, 0: that is not known. */
ALWAYS u64 mapping_here_ends(struct task_struct *current, u64 frame, u32 depth, u64 now)
{
	struct mapping_here *here = mapping_here(depth);

	if (!here || here->call.frame != frame || here->switches != switches_of(current))
		return 0;
	here->call.frame = 0;
	return since(now, here->call.begin_ns);
}

/* Whether the begin of the call was noted is told by the same things as then: what the thread is in, and what is prepared. An interrupt that
 * prepares a request of its own meanwhile leaves nothing to say which one the call was for. */
ALWAYS void mapping_ends(void *ctx, struct device *device)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct prepared *prepared = prepared_upon(current);
	struct thread *t = thread_find(current);
	u64 now, ns, oncpu = 0;
	struct request *rq = NULL;
	u32 depth;

	if (t && !(mapping_goes_on(t) && t->mapping.frame == (u64)ctx))
		t = NULL;
	if (!prepared && !t)
		return;
	depth = interrupt_depth(current);
	if (depth)
		t = NULL;
	if (!t && !(prepared && prepared->depth == depth))
		return;
	now = bpf_ktime_get_ns();
	if (t)
		ns = mapping_length(current, t, now, &oncpu);
	else
		ns = mapping_here_ends(current, (u64)ctx, depth, now);
	if (t) {
		t->mapping.frame = 0;
		scope_leave(t, ABI_CAUSE_DMA_MAP);
		if (!thread_sums(t)->tag)
			t = NULL;
	}
	if (RARELY(ns && ns >= dma_threshold_ns)) {
		rq = request_mapped(device);
		if (rq)
			mapped_befalls(rq, t, ABI_CAUSE_DMA_MAP);
		if (t && oncpu)
			mapping_was_slow(ctx, current, t, rq ? disk_dev_at(BPF_CORE_READ(rq, q, disk)) : 0,
			                 oncpu);
	} else if (t && RARELY(t->mapping.sampled)) {
		mapping_was_sampled(ctx, current, t);
	}
}

/* Two programs on a mapping function: on_NAME_begins where it is called, on_NAME_ends where it returns. */
#define ON_MAPPING(name, function)                                                                           \
	SEC("fentry/" #function)                                                                             \
	int BPF_PROG(on_##name##_begins)                                                                     \
	{                                                                                                    \
		mapping_begins((u64)ctx);                                                                    \
		return 0;                                                                                    \
	}                                                                                                    \
	SEC("fexit/" #function)                                                                              \
	int BPF_PROG(on_##name##_ends, struct device *device)                                                \
	{                                                                                                    \
		mapping_ends(ctx, device);                                                                   \
		return 0;                                                                                    \
	}

/* Since 6.18, where the next two call it. */
ON_MAPPING(phys, dma_map_phys)
ON_MAPPING(page, dma_map_page_attrs)
ON_MAPPING(resource, dma_map_resource)

/* dma_map_sg_attrs() and dma_map_sgtable() do no more than to call it. */
ON_MAPPING(sg, __dma_map_sg_attrs)
ON_MAPPING(alloc, dma_alloc_attrs)

/* Since 6.16, what has an IOMMU is mapped in steps: an address is found, what is at it is linked in, the IOMMU told. */
ON_MAPPING(iova, dma_iova_try_alloc)
ON_MAPPING(link, dma_iova_link)
ON_MAPPING(sync, dma_iova_sync)
