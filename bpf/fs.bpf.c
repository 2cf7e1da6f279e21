/* File systems' side: what a thread says it is about to wait for, and journal commits. */
#include "bpf/thread.bpf.h"
#include "bpf/follow.bpf.h"

ALWAYS void hint_next_sleep(u32 cause)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	if (t && t->hint < cause)
		t->hint = cause;
}

SEC("tp_btf/folio_wait_writeback")
int BPF_PROG(on_folio_wait_writeback, struct folio *folio, struct address_space *mapping)
{
	hint_next_sleep(ABI_CAUSE_WRITEBACK);
	return 0;
}

SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(on_balance_dirty_pages)
{
	hint_next_sleep(ABI_CAUSE_WRITEBACK);
	return 0;
}

/* The journal's thread carries its commit, over all the requests that the commit waits for. */
SEC("tp_btf/jbd2_start_commit")
int BPF_PROG(on_commit_start, struct journal_s *journal)
{
	u64 key = (u64)bpf_get_current_task_btf();
	struct carried commit = { .cause = ABI_CAUSE_JOURNAL, .sticky = 1 };

	if (!journal) /* it never is, but of a module's tracepoints Linux 6.12 believes nothing */
		return 0;
	commit.dev = disk_dev(BPF_CORE_READ(journal, j_fs_dev, bd_disk));
	if (bpf_map_update_elem(&carriers, &key, &commit, BPF_ANY))
		COUNT(follow_full);
	return 0;
}

SEC("tp_btf/jbd2_end_commit")
int BPF_PROG(on_commit_end)
{
	u64 key = (u64)bpf_get_current_task_btf();
	struct carried *commit = bpf_map_lookup_elem(&carriers, &key);

	if (commit)
		commit->ending = 1;
	return 0;
}
