/* Another, slow tracer: of sched_switch when a program's thread leaves the CPU, as one that takes its stack does (none
 * when the kernel's do), or of block_io_start by a kworker, as if it lost the CPU there. What is attached later is called later. */
#include "bpf_types.h"

enum bpf_map_type { BPF_MAP_TYPE_ARRAY = 2 };

struct task_struct {
	int pid;
	unsigned int flags;
} __attribute__((preserve_access_index));

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define PF_KTHREAD   0x00200000
#define PF_WQ_WORKER 0x00000020

char LICENSE[] SEC("license") = "GPL";

const volatile __u64 burn_ns = 3000;
__u64 calls = 0;

static void burn(void)
{
	__u64 until = bpf_ktime_get_ns() + burn_ns;

	for (int i = 0; i < 6000 && bpf_ktime_get_ns() < until; i++)
		;
	__sync_fetch_and_add(&calls, 1);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev)
{
	if (prev->pid && !(prev->flags & PF_KTHREAD))
		burn();
	return 0;
}

SEC("tp_btf/block_io_start")
int on_io_start(void *ctx)
{
	struct task_struct *current = bpf_get_current_task_btf();

	if (current->flags & PF_WQ_WORKER) /* as blk-throttle's */
		burn();
	return 0;
}
