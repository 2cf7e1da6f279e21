/* How deep in interrupts each CPU is. A timer that fires while a kernel thread carries a request, or in the middle of
 * a completion, wakes its own sleepers: they did not wait for that request. */
#include "bpf/follow.bpf.h"

ALWAYS void deeper(int by)
{
	struct carried *mark = mark_here();

	if (mark && (by > 0 || mark->depth))
		mark->depth += by;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_entry)
{
	deeper(1);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_exit)
{
	deeper(-1);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry)
{
	deeper(1);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit)
{
	deeper(-1);
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_hrtimer_entry)
{
	deeper(1);
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(on_hrtimer_exit)
{
	deeper(-1);
	return 0;
}
