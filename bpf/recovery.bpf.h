/* Kernel threads while they bring a controller back: what they do is sampled, as tagged threads wait for it.
 *
 *   a work of the driver begins   recoverers[kworker]
 *     sched_switch                its sleep begins; at the switch-in that is sent, with its kernel stack
 *     perf event                  on the CPU likewise
 *   the work ends                 it is a kworker as any other
 *
 * The samples have the state ABI_RECOVERY and no tag: user space knows by the device whom they hold up (window_profile.c). They are in no
 * row of the ledger.
 */
#ifndef STALLPROF_RECOVERY_BPF_H
#define STALLPROF_RECOVERY_BPF_H

#include "bpf/capture.bpf.h"

struct recoverer {
	u64 sleep_ns;   /* when it went to sleep; 0: it did not */
	u32 dev;        /* the controller's first disk */
	u32 generation; /* of the hooks that saw it begin */
};

/* By address of the task. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, struct recoverer);
} recoverers SEC(".maps") __weak;

/* NULL: the thread brings nothing back now. */
ALWAYS struct recoverer *recoverer_find(const struct task_struct *task)
{
	u64 key = (u64)task;
	struct recoverer *recoverer;

	if (!any_recoverers)
		return NULL;
	recoverer = bpf_map_lookup_elem(&recoverers, &key);
	return recoverer && recoverer->generation == hot_generation ? recoverer : NULL;
}

/* `ns` of its time, to which the event's kernel stack belongs. */
ALWAYS void recovery_head(struct abi_event *event, struct task_struct *task,
                          const struct recoverer *recoverer, u32 kind, u64 ns)
{
	event->kind = kind;
	event->flags = ABI_KERNEL_THREAD;
	event->time_ns = bpf_ktime_get_ns();
	event->duration_ns = ns;
	event->weight_ns = ns;
	event->tag = 0;
	event->process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	event->tgid = task->tgid;
	event->tid = task->pid;
	event->dev = recoverer->dev;
	event->state = ABI_RECOVERY;
	event->cause = ABI_CAUSE_NVME_RESET;
	event->moved_ns = 0;
	event->has_detail = 0;
	event->switches = task->nvcsw;
	BPF_CORE_READ_INTO(&event->comm, task, comm);
}

ALWAYS void recoverer_sleeps(struct task_struct *task)
{
	struct recoverer *recoverer = recoverer_find(task);

	if (RARELY(recoverer))
		recoverer->sleep_ns = bpf_ktime_get_ns();
}

/* It is just switched in, so that its stack is that of the sleep. */
ALWAYS void recoverer_wakes(struct task_struct *task)
{
	struct recoverer *recoverer = recoverer_find(task);
	struct stack_buffer *buffer;
	void *ledger;

	if (!RARELY(recoverer) || !recoverer->sleep_ns)
		return;
	buffer = buffer_scratch();
	ledger = ledger_now();
	if (buffer && ledger) {
		recovery_head(&buffer->event, task, recoverer, ABI_EVENT_WAIT,
		              bpf_ktime_get_ns() - recoverer->sleep_ns);
		buffer->event.window = ledger_window(ledger);
		kernel_stack_of(task, &buffer->event);
		event_send(buffer, 0, 0);
	}
	recoverer->sleep_ns = 0;
}

/* A perf event has met it on the CPU. */
ALWAYS void recoverer_runs(struct bpf_perf_event_data *ctx, struct task_struct *task)
{
	struct recoverer *recoverer = recoverer_find(task);
	struct stack_buffer *buffer;
	void *ledger;
	long bytes;

	if (!RARELY(recoverer))
		return;
	buffer = buffer_scratch();
	ledger = ledger_now();
	if (!buffer || !ledger)
		return;
	recovery_head(&buffer->event, task, recoverer, ABI_EVENT_CPU, cpu_period_ns);
	buffer->event.window = ledger_window(ledger);
	bytes = bpf_get_stack(ctx, buffer->event.kstack, sizeof(buffer->event.kstack), 0);
	buffer->event.kstack_len = bytes > 0 ? (u64)bytes / 8 : 0;
	event_send(buffer, 0, 0);
}

#endif
