/*
 * An independent tracer of sleeps, by sched_switch and sched_waking and one clock, and of the ends of block requests. It
 * shares no code with bpf/; the tests compare the profile with it.
 */
#include "bpf_types.h"

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_STACK_TRACE = 7,
	BPF_MAP_TYPE_RINGBUF = 27,
};

struct pt_regs {
	unsigned long orig_ax;
} __attribute__((preserve_access_index));

struct request;

struct sched_entity {
	__u64 sum_exec_runtime;
} __attribute__((preserve_access_index));

struct sched_info {
	unsigned long long run_delay;
} __attribute__((preserve_access_index));

struct task_struct {
	int pid, tgid;
	unsigned int in_iowait : 1;
	struct sched_entity se;
	struct sched_info sched_info;
	char comm[16];
} __attribute__((preserve_access_index));

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "sleeps.h"

char LICENSE[] SEC("license") = "GPL";

#define STATE_DEAD   0x80
#define STATE_UNINT  2
#define STATE_NOLOAD 0x400

enum kind { RUNNING = 0, QUEUED = 1, ASLEEP = 2 };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, int);
	__type(value, struct traced_thread);
} threads SEC(".maps");

/* Thread groups that are watched, and so are their children. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, int);
	__type(value, int);
} watched SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 65536);
	__uint(key_size, 4);
	__uint(value_size, SLEEPS_STACK_DEPTH * 8);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} records SEC(".maps");

/* Block requests under way, by address: the process whose thread began it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, int);
} requests SEC(".maps");

__u64 records_lost = 0;
static const struct traced_thread nothing;

static __always_inline struct traced_thread *find(struct task_struct *task)
{
	int tid = task->pid, tgid = task->tgid;
	struct traced_thread *t = bpf_map_lookup_elem(&threads, &tid);

	if (t || !bpf_map_lookup_elem(&watched, &tgid))
		return t;
	bpf_map_update_elem(&threads, &tid, &nothing, 0);
	t = bpf_map_lookup_elem(&threads, &tid);
	if (t) {
		t->total.tgid = tgid;
		__builtin_memcpy(t->total.comm, task->comm, sizeof(t->total.comm));
	}
	return t;
}

static __always_inline bool wake_seen(const struct traced_thread *t)
{
	return t->waking_ns || t->wake_ns;
}

static __always_inline void emit(struct traced_thread *t, __u64 in_ns, __u32 flags)
{
	struct sleep_record *out;

	t->sleep.in_ns = in_ns;
	t->sleep.flags |= flags;
	if (!t->wake_ns)
		t->wake_ns = t->waking_ns;
	t->sleep.waking_ns = t->waking_ns ? t->waking_ns : t->wake_ns;
	t->sleep.wake_ns = t->wake_ns;
	t->total.slept_ns += t->wake_ns - t->sleep.out_ns;
	t->total.runq_ns += in_ns - t->wake_ns;
	t->total.sleeps++;
	out = bpf_ringbuf_reserve(&records, sizeof(*out), 0);
	if (!out) {
		__sync_fetch_and_add(&records_lost, 1);
		return;
	}
	*out = t->sleep;
	bpf_ringbuf_submit(out, 1); /* read in bulk: nobody is to be woken by us */
}

/* No wake-up was seen: either it came before the switch-out, or a thread that hides it had the CPU. The scheduler's own counts tell,
 * which are up to date at the next switch-out: what the thread did not wait for a CPU until `in_ns`, it slept. */
static __always_inline void emit_late(struct traced_thread *t, struct task_struct *task, __u64 in_ns,
                                      __u32 flags)
{
	__u64 queued = task->sched_info.run_delay - t->delay_ns;

	if (in_ns > t->sleep.out_ns + queued)
		t->wake_ns = in_ns - queued;
	else
		t->wake_ns = t->sleep.out_ns;
	emit(t, in_ns, flags | SLEEPS_WAKE_LOST);
}

static __always_inline void switched_out(void *ctx, struct task_struct *task, bool preempt,
                                         unsigned int state, __u64 now)
{
	struct traced_thread *t = find(task);
	struct pt_regs *regs;

	if (!t)
		return;
	if (t->kind == ASLEEP && wake_seen(t))
		emit(t, now, SLEEPS_IN_LOST);
	else if (t->kind == ASLEEP)
		emit_late(t, task, now - (task->se.sum_exec_runtime - t->exec_ns), SLEEPS_IN_LOST);
	else if (t->at_ns)
		*(t->kind == RUNNING ? &t->total.oncpu_ns : &t->total.runq_ns) += now - t->at_ns;
	if (t->in_ns)
		emit_late(t, task, t->in_ns, 0);
	t->in_ns = 0;
	t->total.switches++;
	t->at_ns = now;
	t->kind = QUEUED;
	if (state & STATE_DEAD)
		__builtin_memcpy(t->total.comm, task->comm,
		                 sizeof(t->total.comm)); /* it may have changed by exec */
	if (preempt || !state || state & STATE_DEAD)
		return;
	t->kind = ASLEEP;
	t->waking_ns = 0;
	t->wake_ns = 0;
	t->exec_ns = task->se.sum_exec_runtime;
	t->delay_ns = task->sched_info.run_delay;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	t->sleep.tid = task->pid;
	t->sleep.tgid = task->tgid;
	t->sleep.out_ns = now;
	t->sleep.syscall = BPF_CORE_READ(regs, orig_ax);
	t->sleep.flags = BPF_CORE_READ_BITFIELD(task, in_iowait) ? SLEEPS_IOWAIT : 0;
	if (state & STATE_UNINT && !(state & STATE_NOLOAD))
		t->sleep.flags |= SLEEPS_UNINT;
	t->sleep.stack = bpf_get_stackid(ctx, &stacks, 0);
	t->sleep.waker = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
             unsigned int prev_state)
{
	__u64 now = bpf_ktime_get_ns();
	struct traced_thread *t;

	switched_out(ctx, prev, preempt, prev_state, now);
	t = find(next);
	if (!t)
		return 0;
	if (t->kind == ASLEEP && wake_seen(t))
		emit(t, now, 0);
	else if (t->kind == ASLEEP)
		t->in_ns = now;
	else if (t->kind == QUEUED && t->at_ns)
		t->total.runq_ns += now - t->at_ns;
	t->at_ns = now;
	t->kind = RUNNING;
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct traced_thread *t = find(task);

	if (!t || t->kind != ASLEEP || t->waking_ns)
		return 0;
	t->waking_ns = bpf_ktime_get_ns();
	t->sleep.waker = (int)bpf_get_current_pid_tgid();
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	struct traced_thread *t = find(task);

	if (t && t->kind == ASLEEP && !t->wake_ns)
		t->wake_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	int tgid = parent->tgid, tid = child->pid, one = 1;
	struct traced_thread *t;

	if (!bpf_map_lookup_elem(&watched, &tgid))
		return 0;
	tgid = child->tgid;
	bpf_map_update_elem(&watched, &tgid, &one, 0);
	bpf_map_delete_elem(&threads, &tid); /* of an earlier use of the number */
	t = find(child);
	if (t) {
		t->at_ns = bpf_ktime_get_ns(); /* it waits for a CPU from here on */
		t->kind = QUEUED;
	}
	return 0;
}

SEC("tp_btf/block_io_start")
int BPF_PROG(on_request, struct request *rq)
{
	int tgid = (int)(bpf_get_current_pid_tgid() >> 32);
	__u64 key = (__u64)rq;

	if (bpf_map_lookup_elem(&watched, &tgid))
		bpf_map_update_elem(&requests, &key, &tgid, 0);
	return 0;
}

/* The end of a request is a record without a thread. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_request_end, struct request *rq)
{
	__u64 key = (__u64)rq;
	int *tgid = bpf_map_lookup_elem(&requests, &key);
	struct sleep_record *out;

	if (!tgid)
		return 0;
	out = bpf_ringbuf_reserve(&records, sizeof(*out), 0);
	if (out) {
		*out = (struct sleep_record){ .tgid = *tgid, .wake_ns = bpf_ktime_get_ns() };
		bpf_ringbuf_submit(out, 1);
	} else {
		__sync_fetch_and_add(&records_lost, 1);
	}
	bpf_map_delete_elem(&requests, &key);
	return 0;
}
