/* What kind of wait a sleep is, should it be no stall: as the system call says that the thread is in. */
#ifndef STALLPROF_KIND_BPF_H
#define STALLPROF_KIND_BPF_H

#include "bpf/kernel_fs.bpf.h"
#include "bpf/ledger.bpf.h"

/* x86-64 system calls. */
#define NR_NANOSLEEP       35
#define NR_CLONE           56
#define NR_VFORK           58
#define NR_IO_GETEVENTS    208
#define NR_RESTART_SYSCALL 219
#define NR_CLOCK_NANOSLEEP 230
#define NR_IO_PGETEVENTS   333
#define NR_IO_URING_ENTER  426
#define NR_CLONE3          435
#define NR_KNOWN_MAX       464 /* below 512: see wait_kind() */

#define KIND_OF_FILE 1 /* as the file behind its first argument is */

const volatile __weak __u8 kind_by_syscall[512] = {
	[0] = KIND_OF_FILE,      /* read */
	[1] = KIND_OF_FILE,      /* write */
	[7] = ABI_WAIT_POLL,     /* poll */
	[17] = KIND_OF_FILE,     /* pread64 */
	[18] = KIND_OF_FILE,     /* pwrite64 */
	[19] = KIND_OF_FILE,     /* readv */
	[20] = KIND_OF_FILE,     /* writev */
	[23] = ABI_WAIT_POLL,    /* select */
	[34] = ABI_WAIT_SLEEP,   /* pause */
	[35] = ABI_WAIT_SLEEP,   /* nanosleep */
	[40] = KIND_OF_FILE,     /* sendfile */
	[42] = ABI_WAIT_SOCKET,  /* connect */
	[43] = ABI_WAIT_SOCKET,  /* accept */
	[44] = ABI_WAIT_SOCKET,  /* sendto */
	[45] = ABI_WAIT_SOCKET,  /* recvfrom */
	[46] = ABI_WAIT_SOCKET,  /* sendmsg */
	[47] = ABI_WAIT_SOCKET,  /* recvmsg */
	[61] = ABI_WAIT_CHILD,   /* wait4 */
	[65] = ABI_WAIT_LOCK,    /* semop */
	[72] = ABI_WAIT_LOCK,    /* fcntl */
	[73] = ABI_WAIT_LOCK,    /* flock */
	[128] = ABI_WAIT_SLEEP,  /* rt_sigtimedwait */
	[130] = ABI_WAIT_SLEEP,  /* rt_sigsuspend */
	[202] = ABI_WAIT_LOCK,   /* futex */
	[220] = ABI_WAIT_LOCK,   /* semtimedop */
	[230] = ABI_WAIT_SLEEP,  /* clock_nanosleep */
	[232] = ABI_WAIT_POLL,   /* epoll_wait */
	[247] = ABI_WAIT_CHILD,  /* waitid */
	[270] = ABI_WAIT_POLL,   /* pselect6 */
	[271] = ABI_WAIT_POLL,   /* ppoll */
	[275] = KIND_OF_FILE,    /* splice */
	[281] = ABI_WAIT_POLL,   /* epoll_pwait */
	[288] = ABI_WAIT_SOCKET, /* accept4 */
	[295] = KIND_OF_FILE,    /* preadv */
	[296] = KIND_OF_FILE,    /* pwritev */
	[299] = ABI_WAIT_SOCKET, /* recvmmsg */
	[307] = ABI_WAIT_SOCKET, /* sendmmsg */
	[441] = ABI_WAIT_POLL,   /* epoll_pwait2 */
	[449] = ABI_WAIT_LOCK,   /* futex_waitv */
	[455] = ABI_WAIT_LOCK,   /* futex_wait */
	[456] = ABI_WAIT_LOCK,   /* futex_requeue */
};

ALWAYS bool waits_for_io(u32 nr)
{
	return nr == NR_IO_URING_ENTER || nr == NR_IO_GETEVENTS || nr == NR_IO_PGETEVENTS;
}

ALWAYS bool makes_child(u32 nr)
{
	return nr == NR_CLONE || nr == NR_VFORK || nr == NR_CLONE3;
}

/* The 64-bit system call that the task is in, with the user's registers `regs` (NULL: a kernel thread); ~0: none, or one by the entry for
 * 32-bit programs, whose calls have other numbers. */
ALWAYS u32 call_number(const struct task_struct *task, const struct pt_regs *regs)
{
	return regs && !(task->thread_info.status & TS_COMPAT) ? (u32)regs->orig_ax : ~0U;
}

/* The file that the task has open as `fd`; NULL: it has none. */
ALWAYS struct file *file_of(struct task_struct *task, u64 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct hlist_head *entry; /* any struct that is a pointer */

	if (!table || fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	entry = (void *)(BPF_CORE_READ(table, fd) + fd);
	return (void *)BPF_CORE_READ(entry, first);
}

/* … and what kind of waits there are for it; 0: it has none. */
ALWAYS u32 kind_of_file(struct task_struct *task, u64 fd)
{
	struct file *file = file_of(task, fd);
	struct inode *inode;
	u16 mode;

	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	mode = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	return mode == S_IFIFO ? ABI_WAIT_PIPE : mode == S_IFSOCK ? ABI_WAIT_SOCKET : ABI_WAIT_OTHER;
}

/* Looking at a file takes longer than most of a switch's hook. A sleep in the same call on the same number as one of the last two
 * milliseconds is taken for one on the same file; if it lasts a millisecond, the file is looked at when it ends, or a window does. What
 * stays unknown: a file whose number was given to another in that time, for sleeps below a millisecond, and for one during which that
 * happens, or whose end was not seen. */
#define FILE_TIME_BITS 20 /* of the clock */

ALWAYS u32 file_time(u64 now)
{
	return now >> FILE_TIME_BITS;
}

ALWAYS void file_look(struct task_struct *task, struct known_file *file, u32 nr, u32 fd, u64 now)
{
	file->kind = kind_of_file(task, fd);
	file->call = fd <= 0xffff ? nr + 1 : 0;
	file->fd = fd;
	file->looked = file_time(now);
}

/* Kind of a sleep in a call on a file. */
ALWAYS u32 kind_of_call(struct task_struct *task, struct known_file *file, u32 nr, u32 fd, u64 now)
{
	if (file->call == nr + 1 && file->fd == fd && file_time(now) - file->looked <= 1)
		file->assumed = 1;
	else
		file_look(task, file, nr, fd, now);
	return file->kind;
}

/* Whether the sleep is a stop by a signal, a debugger or a freezer. That of cgroup v2 is not in the state; it sets `frozen`, as vfork does for
 * the parent, which sleeps uninterruptibly. */
ALWAYS bool is_stopped(const struct task_struct *task, u32 task_state)
{
	if (task_state & TASK_STOPPED_ETC)
		return true;
	return !(task_state & TASK_UNINTERRUPTIBLE) && HAS_FIELD(task, frozen) &&
	       BPF_CORE_READ_BITFIELD(task, frozen);
}

/* Kind of the sleep of a task that is in the system call `nr` (~0: in none), with the registers that it entered with. */
ALWAYS u32 wait_kind(struct task_struct *task, struct thread *t, u32 nr, const struct pt_regs *regs, u64 now)
{
	u32 kind, index = nr;

	if (nr >= NR_KNOWN_MAX)
		return ABI_WAIT_OTHER;
	barrier_var(index); /* keeps the mask: Linux 6.1 knows no bound of a copy of nr */
	kind = kind_by_syscall[index & 511];
	if (kind == KIND_OF_FILE)
		kind = kind_of_call(task, &t->file, nr, regs->di, now);
	return kind ? kind : ABI_WAIT_OTHER;
}

NOW_AND_THEN u32 kind_looked_up(struct task_struct *task, const struct thread *t)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u32 kind = regs ? kind_of_file(task, (u32)regs->di) : 0;

	return kind ? kind : kind_of(t); /* another thread has closed it */
}

/* Kind of a sleep that has lasted until now. */
ALWAYS u32 kind_so_far(struct task_struct *task, const struct thread *t, u64 now)
{
	bool doubtful = t->file.assumed && since(now, t->sleep_ns) >= 1 << FILE_TIME_BITS;

	return RARELY(doubtful) ? kind_looked_up(task, t) : kind_of(t);
}

/* To be asked when the sleep has ended. */
ALWAYS void kind_settle(struct task_struct *task, struct thread *t, u64 now)
{
	t->kind = kind_so_far(task, t, now);
	t->file.assumed = 0;
}

#endif
