/* File systems' side: what a thread says it is about to wait for, and journal commits. */
#include "bpf/follow.bpf.h"
#include "bpf/hint.bpf.h"
#include "bpf/kernel_fs.bpf.h"
#include "bpf/kernel_threads.bpf.h"

/* The disk behind the file system's writes. */
ALWAYS u32 writeback_dev(struct backing_dev_info *bdi)
{
	struct device *disk = BPF_CORE_READ(bdi, owner); /* bdi->dev is a device without a number */

	return disk ? BPF_CORE_READ(disk, devt) : 0;
}

ALWAYS void waits_for_writeback(struct address_space *mapping)
{
	u32 dev = mapping ? writeback_dev(BPF_CORE_READ(mapping, host, i_sb, s_bdi)) : 0;

	hint_next_sleep(ABI_CAUSE_WRITEBACK, dev, false);
}

SEC("tp_btf/folio_wait_writeback")
int BPF_PROG(on_folio_wait_writeback, struct folio *folio, struct address_space *mapping)
{
	waits_for_writeback(mapping);
	return 0;
}

/* Kernels before 5.16 have no folios. */
SEC("tp_btf/wait_on_page_writeback")
int BPF_PROG(on_page_wait_writeback, struct page *page, struct address_space *mapping)
{
	waits_for_writeback(mapping);
	return 0;
}

/* A thread hands work to the flusher, as sync does, and waits until that is done. */
SEC("tp_btf/writeback_queue")
int BPF_PROG(on_writeback_queue, struct bdi_writeback *wb)
{
	hint_next_sleep(ABI_CAUSE_WRITEBACK, writeback_dev(BPF_CORE_READ(wb, bdi)), false);
	return 0;
}

ALWAYS u32 xfs_log_dev(struct xlog *log)
{
	return disk_dev_at(BPF_CORE_READ(log, l_targ, bt_bdev, bd_disk));
}

ALWAYS u32 xfs_data_dev(struct xlog *log)
{
	return disk_dev_at(BPF_CORE_READ(log, l_mp, m_ddev_targp, bt_bdev, bd_disk));
}

/* XFS's log: a thread has the changes before its own written. It waits for the worker that copies them into the log's buffers, for a buffer
 * before theirs that is being written, of which no tracepoint tells, and … */
SEC("tp_btf/xfs_log_force")
int BPF_PROG(on_xfs_log_force, struct xfs_mount *mount)
{
	hint_sleeps(ABI_CAUSE_JOURNAL, xfs_log_dev(BPF_CORE_READ(ARGUMENT(mount), m_log)));
	return 0;
}

/* … at last for theirs. */
SEC("tp_btf/xlog_iclog_wait_on")
int BPF_PROG(on_xfs_log_wait, struct xlog_in_core *buffer)
{
	hint_next_sleep(ABI_CAUSE_JOURNAL, xfs_log_dev(BPF_CORE_READ(ARGUMENT(buffer), ic_log)), false);
	return 0;
}

/* A change does not fit into the log: the thread waits until older ones are in their places, on the data's device. This is told before each
 * sleep of the wait, … */
SEC("tp_btf/xfs_log_grant_sleep")
int BPF_PROG(on_xfs_log_full, struct xlog *log)
{
	hint_next_sleep(ABI_CAUSE_JOURNAL, xfs_data_dev(ARGUMENT(log)), false);
	return 0;
}

/* … and this after it, also where a wake came first, so that there was none. */
SEC("tp_btf/xfs_log_grant_wake")
int BPF_PROG(on_xfs_log_full_slept)
{
	hint_is_over(ABI_CAUSE_JOURNAL);
	return 0;
}

/* It is told also when no pause follows. Which argument is the pause has changed with the versions. */
SEC("tp_btf/balance_dirty_pages")
int on_balance_dirty_pages(u64 *ctx)
{
	struct bdi_writeback *wb = (void *)ctx[0];
	s64 pause = 1;

	/* Written out, as the verifier wants the place in the instruction, and clang would compute it. */
	if (pause_arg == 10)
		asm volatile("%0 = *(u64 *)(%1 + 80)" : "=r"(pause) : "r"(ctx));
	else if (pause_arg == 6)
		asm volatile("%0 = *(u64 *)(%1 + 48)" : "=r"(pause) : "r"(ctx));
	if (pause > 0)
		hint_next_sleep(ABI_CAUSE_WRITEBACK, writeback_dev(BPF_CORE_READ(wb, bdi)), true);
	return 0;
}

/* The journal's thread carries its commit, over all the requests that the commit waits for. */
SEC("tp_btf/jbd2_start_commit")
int BPF_PROG(on_commit_start, struct journal_s *journal)
{
	struct carried commit = { .cause = ABI_CAUSE_JOURNAL, .sticky = 1 };

	if (!journal) /* it never is, but of a module's tracepoints Linux 6.12 believes nothing */
		return 0;
	commit.dev = disk_dev(journal->j_fs_dev->bd_disk);
	carry_now(bpf_get_current_task_btf(), &commit);
	return 0;
}

SEC("tp_btf/jbd2_end_commit")
int BPF_PROG(on_commit_end)
{
	struct carried *commit = carried_by(bpf_get_current_task_btf());

	if (commit)
		commit->ending = 1;
	return 0;
}

/* The journal whose thread this is; NULL: it is another. */
ALWAYS struct journal_s *journal_of(struct task_struct *task)
{
	char comm[8];

	BPF_CORE_READ_STR_INTO(&comm, task, comm);
	if (!(task->flags & PF_KTHREAD) || comm[0] != 'j' || comm[1] != 'b' || comm[2] != 'd' ||
	    comm[3] != '2' || comm[4] != '/')
		return NULL;
	return kthread_data(task);
}

/* A commit that had begun when the hooks were attached, as on_commit_start() would have told it. */
ALWAYS void adopt_commit(struct task_struct *task)
{
	struct carried commit = { .cause = ABI_CAUSE_JOURNAL, .sticky = 1 }, *known = carried_by(task);
	struct journal_s *journal = journal_of(task);
	struct gendisk *disk;

	if (!journal || !HAS_FIELD(journal, j_committing_transaction) || (known && known->sticky) ||
	    !BPF_CORE_READ(journal, j_committing_transaction))
		return;
	disk = BPF_CORE_READ(journal, j_fs_dev, bd_disk);
	if (disk)
		commit.dev = BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
	carry_now(task, &commit);
	if (!BPF_CORE_READ(journal, j_committing_transaction))
		carry_no_more(task); /* it has just ended */
}

SEC("iter/task")
int on_iter_journal(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task)
		adopt_commit(task);
	return 0;
}
