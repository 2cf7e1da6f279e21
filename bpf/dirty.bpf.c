/* Who makes a file's pages dirty: the requests that write them, later and from a kernel thread, are of that tag. */
#include "bpf/requests.bpf.h"

/* Notes it, and remembers what was noted last: most threads write one file for long. */
ALWAYS void dirtied_by(struct thread *t, u64 tag, struct inode *inode)
{
	struct dirty_file file = { .inode = (u64)inode, .number = BPF_CORE_READ(inode, i_ino) };

	if (t->dirtied.inode == file.inode && t->dirtied.number == file.number && t->dirtied_tag == tag)
		return;
	t->dirtied = file;
	t->dirtied_tag = tag;
	if (tag)
		bpf_map_update_elem(&dirty_files, &file, &tag, BPF_ANY);
	else
		bpf_map_delete_elem(&dirty_files, &file);
}

ALWAYS void pages_dirtied(struct address_space *mapping)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode = mapping ? BPF_CORE_READ(mapping, host) : NULL;
	struct thread *t = inode && !serves_others(task) ? thread_find(task) : NULL;

	if (t)
		dirtied_by(t, tag_in_call(task, t), inode);
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
