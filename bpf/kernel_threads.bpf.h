/* The kernel's types, as in kernel.bpf.h: those of its own threads. */
#ifndef STALLPROF_KERNEL_THREADS_BPF_H
#define STALLPROF_KERNEL_THREADS_BPF_H

#include "bpf/kernel.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kthread {
	void *data; /* what its function was given */
};

struct workqueue_struct {
	char name[9]; /* … and more */
};

struct pool_workqueue {
	struct workqueue_struct *wq;
};

struct worker {
	struct pool_workqueue *current_pwq;
};

#pragma clang attribute pop

/* What a kernel thread's function was given: a kworker its struct worker, jbd2 its journal. */
ALWAYS void *kthread_data(struct task_struct *task)
{
	if (HAS_FIELD(task, worker_private))
		return BPF_CORE_READ((struct kthread *)task->worker_private, data);
	return BPF_CORE_READ((struct kthread *)task->set_child_tid, data);
}

#endif
