/* Another tracer of sched_switch, which takes its time when a program's thread leaves the CPU, as one that takes its
 * stack does, and none when the kernel's do. What is attached later is called later. */
#include "bpf_types.h"

enum bpf_map_type { BPF_MAP_TYPE_ARRAY = 2 };

struct task_struct {
	int pid;
	unsigned int flags;
} __attribute__((preserve_access_index));

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define PF_KTHREAD 0x00200000

char LICENSE[] SEC("license") = "GPL";

const volatile __u64 burn_ns = 3000;
__u64 calls = 0;

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev)
{
	__u64 until = bpf_ktime_get_ns() + burn_ns;

	if (!prev->pid || prev->flags & PF_KTHREAD)
		return 0;
	for (int i = 0; i < 2000 && bpf_ktime_get_ns() < until; i++)
		;
	__sync_fetch_and_add(&calls, 1);
	return 0;
}
