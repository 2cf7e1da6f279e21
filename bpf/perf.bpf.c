/* Samples of CPUs. One counts as on-CPU time inside a stall if a request of the tagged thread is under way, or it is in a scope, a call that
 * maps memory or the recovery of a device; with --oncpu-hz outside of those, too; and as CPU time of the host's users, tagged or not. */
#include "bpf/log_take.bpf.h"
#include "bpf/recovery.bpf.h"
#include "bpf/issued.bpf.h"
#include "bpf/sample_clock.bpf.h"
#include "bpf/wait.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct sample_clock);
} sample_clocks SEC(".maps") __weak;

/* What this CPU ran since its last sample and no sample tells. */
ALWAYS u64 skipped_ns(void)
{
	u32 zero = 0;
	struct sample_clock *clock = bpf_map_lookup_elem(&sample_clocks, &zero);

	if (!clock)
		return 0;
	return cpu_period_ns * samples_skipped(clock, bpf_ktime_get_ns(), cpu_period_ns,
	                                       (u64)clocks_renewed << 32 | hot_generation);
}

ALWAYS void cpu_regs(struct abi_regs *to, struct task_struct *task, struct bpf_perf_event_data *ctx)
{
	struct pt_regs *regs;

	if (ctx->regs.cs & 3) {
		to->ax = ctx->regs.ax;
		to->dx = ctx->regs.dx;
		to->cx = ctx->regs.cx;
		to->bx = ctx->regs.bx;
		to->si = ctx->regs.si;
		to->di = ctx->regs.di;
		to->bp = ctx->regs.bp;
		to->sp = ctx->regs.sp;
		to->r8 = ctx->regs.r8;
		to->r9 = ctx->regs.r9;
		to->r10 = ctx->regs.r10;
		to->r11 = ctx->regs.r11;
		to->r12 = ctx->regs.r12;
		to->r13 = ctx->regs.r13;
		to->r14 = ctx->regs.r14;
		to->r15 = ctx->regs.r15;
		to->ip = ctx->regs.ip;
		barrier(); /* clang would make one load of both cases, of which the verifier cannot tell what it loads from */
		return;
	}
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (regs)
		regs_from(to, regs);
}

/* Also of a thread that is in the kernel. */
ALWAYS u64 user_sp(struct task_struct *task, struct bpf_perf_event_data *ctx)
{
	struct pt_regs *regs;

	if (ctx->regs.cs & 3) {
		u64 sp = ctx->regs.sp;

		barrier(); /* as in cpu_regs() */
		return sp;
	}
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	return regs ? regs->sp : 0;
}

/* The sample itself, of what `key` says. `rq`: the request that it is in, NULL: none. */
ALWAYS void cpu_event(struct bpf_perf_event_data *ctx, struct task_struct *task, struct thread *t,
                      struct stack_buffer *buffer, const struct abi_ledger_key *key, struct request *rq,
                      u64 threshold, u64 window)
{
	struct abi_event *event = &buffer->event;
	u32 flags = 0, len, n_python;
	long bytes;

	event_head(event, task, t, ABI_EVENT_CPU, key->tag);
	event->time_ns = bpf_ktime_get_ns();
	event->duration_ns = cpu_period_ns;
	event->weight_ns = wait_weight(cpu_period_ns, threshold);
	event->dev = key->dev;
	event->state = ABI_CPU_STALL;
	event->cause = key->cause;
	event->window = window;
	if (RARELY(cause_has_details(event)))
		detail_take_inflight(buffer, t, rq);
	bytes = bpf_get_stack(ctx, event->kstack, sizeof(event->kstack), 0);
	event->kstack_len = bytes > 0 && !(ctx->regs.cs & 3) ? (u64)bytes / 8 : 0;
	cpu_regs(&event->regs, task, ctx);
	len = copy_user_stack(task, buffer, event->regs.sp, &flags);
	n_python = capture_python(task, t, buffer, len, &flags);
	event->flags = flags;
	__sync_fetch_and_add(&ring_bytes[ABI_WAITS_CPU], event_send(buffer, len, n_python));
}

/* T of a sample that comes now: it doubles with each sixteenth that the ring is more than half full, so that waits find room until user space
 * has raised it. */
ALWAYS u64 cpu_threshold(void)
{
	u64 full = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) * 16 /
	           bpf_ringbuf_query(&events, BPF_RB_RING_SIZE);

	return threshold_ns[ABI_WAITS_CPU] << (full < 8 ? 0 : at_most(full, 16) - 7);
}

/* Whether a sample is kept. All are while their stacks are within the budget, else a fair part, which stands for the others. */
ALWAYS bool cpu_sample_kept(struct thread *t, u64 threshold)
{
	if (MOSTLY(threshold <= cpu_period_ns))
		return true;
	lot_draw(t, bpf_ktime_get_ns());
	if (cpu_period_ns > lot_ns(t, threshold))
		return true;
	COUNT(cpu_samples_left_out);
	return false;
}

/* Whether the samples of all processes are counted, tagged or not. User space sets it. */
const volatile __weak bool counts_users = false;

/* Who has the CPU. */
ALWAYS void count_user(struct task_struct *task)
{
	struct abi_ledger_key key = { .tag = ABI_NOBODYS_TAG, .state = ABI_CPU_USER };

	key.tgid = task->tgid;
	if (counts_users && task->pid) /* not idle */
		ledger_add(&key, cpu_period_ns, 1, 0);
}

SEC("perf_event")
int on_cpu_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_find(task);
	struct abi_ledger_key key;
	struct stack_buffer *buffer;
	struct request *rq = NULL;
	u32 stalled, dev = 0; /* enum abi_cause */
	void *ledger;
	u64 tag, skipped = skipped_ns(), threshold;

	count_user(task);
	if (!t) {
		recoverer_runs(ctx, task);
		return 0;
	}
	log_take(task, t, true);
	if (t->watches_context && !t->context_known)
		thread_read_context(task, t); /* it may not switch for long */
	tag = thread_sums(t)->tag;
	stalled = tag ? request_under_way(t, &dev, &rq) : 0;
	calls_check(t, user_sp(task, ctx));
	if (ctx->regs.cs & 3 || t->scopes.generation != hot_generation) {
		t->mapping.frame =
		        0; /* no function of the kernel's goes on: what is left of one has not been seen to end */
		scopes_forget_left(t);
	}
	if (mapping_goes_on(t)) {
		t->mapping.sampled =
		        1; /* told when the call ends: by then it may be slow, which is told whole (dma.bpf.c) */
		return 0;
	}
	if (scope_cause_on_cpu(t) > stalled) {
		stalled = scope_cause_on_cpu(t);
		dev = scope_dev(t, stalled);
	}
	if (!tag || (!stalled && !samples_oncpu))
		return 0;
	ledger = ledger_now();
	buffer = buffer_scratch();
	if (!ledger || !buffer)
		return 0;
	key_of(&key, t, tag, ABI_CPU_STALL);
	key.cause = stalled;
	key.dev = dev;
	ledger_add(&key, cpu_period_ns, 1, 0);
	/* A CPU that idles may have no samples, and nobody lacks them: no more than has run since the thread came onto the CPU. */
	if (RARELY(skipped))
		COUNT_BY(samples_skipped_ns, at_most(skipped, since(bpf_ktime_get_ns(), t->in_ns)));
	threshold = cpu_threshold();
	if (cpu_sample_kept(t, threshold))
		cpu_event(ctx, task, t, buffer, &key, rq, threshold, ledger_window(ledger));
	return 0;
}
