/* Files whose calls are tagged (files.bpf.c): what a thread's switches ask of them. */
#ifndef STALLPROF_FILES_BPF_H
#define STALLPROF_FILES_BPF_H

#include "bpf/thread.bpf.h"

/* Whether the thread has left the call that gave it the file's tag, and that was not seen: it is in another system call, or in none. */
ALWAYS bool file_call_left(struct task_struct *task, const struct thread *t)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return regs && (regs->ip != t->file_ip || regs->sp != t->file_sp);
}

#endif
