/* The last look at a thread's log of tag changes, before its memory goes. */
#include "bpf/log_take.bpf.h"

ALWAYS int take_last(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_find(task);

	if (t)
		log_take_last(task, t);
	return 0;
}

/* Since 6.16 the thread still has its memory there (since then it tells `group_dead`, too) … */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit)
{
	return take_last();
}

/* … and in older kernels here. */
SEC("fexit/exit_signals")
int BPF_PROG(on_exiting)
{
	return take_last();
}

/* exec() is about to replace the memory. */
SEC("tp_btf/sched_prepare_exec")
int BPF_PROG(on_prepare_exec)
{
	return take_last();
}

/* In kernels before 6.10 here: exec() has begun, and has not failed yet. */
SEC("fexit/prepare_exec_creds")
int BPF_PROG(on_executing)
{
	return take_last();
}
