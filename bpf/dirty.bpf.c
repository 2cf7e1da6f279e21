/* Who makes a file's pages dirty: the requests that write them, later and from a kernel thread, are of that tag. */
#include "bpf/kernel_fs.bpf.h"
#include "bpf/requests.bpf.h"

/* Notes under which tag it was, 0: none. The last to make any of a file's pages dirty has all of them. */
ALWAYS void dirtied_under(struct inode *inode, u64 tag)
{
	struct dirty_file file = {};
	u64 *known;

	if (!tag && !n_dirty_files)
		return; /* as each page of who writes beside tagged threads that do not */
	dirty_file_of(&file, inode);
	known = bpf_map_lookup_elem(&dirty_files, &file);
	if (known && tag) {
		*known = tag;
	} else if (known) {
		if (!bpf_map_delete_elem(&dirty_files, &file))
			__sync_fetch_and_add(&n_dirty_files, -1);
	} else if (tag) {
		if (bpf_map_update_elem(&dirty_files, &file, &tag, BPF_ANY))
			COUNT(follow_full);
		else if (__sync_fetch_and_add(&n_dirty_files, 1) >= DIRTY_FILES)
			COUNT(dirty_forgotten);
	}
}

/* Others than plain files hold what file systems write for everybody. A kernel thread has no file of its own: what it makes dirty was
 * dirty before. */
ALWAYS void pages_dirtied(struct address_space *mapping)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode = mapping && tells_requests ? BPF_CORE_READ(mapping, host) : NULL;
	struct thread *t;

	if (!inode || serves_others(task) || (BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG)
		return;
	t = thread_find(task);
	dirtied_under(inode, t ? tag_in_call(task, t) : 0);
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(on_folio_dirtied, struct folio *folio, struct address_space *mapping)
{
	pages_dirtied(mapping);
	return 0;
}

/* Kernels before 5.18. */
SEC("tp_btf/writeback_dirty_page")
int BPF_PROG(on_page_dirtied, struct page *page, struct address_space *mapping)
{
	pages_dirtied(mapping);
	return 0;
}
