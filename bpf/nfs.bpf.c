/* NFS's side: threads that wait for a server. A call on a file of its is a scope, and so is a page fault in one. What
 * the client asks the server besides, for names and attributes, counts as reading. */
#include "bpf/thread.bpf.h"
#include "bpf/scope.bpf.h"

#define NFS_SUPER_MAGIC 0x6969

/* The current thread begins something with a file of a server's. */
ALWAYS int nfs_begin(const void *ctx, u32 cause, struct inode *inode)
{
	struct thread *t = thread_tagged();

	if (t && inode) /* it never is NULL, but of a module's tracepoints Linux 6.12 believes nothing */
		scope_enter(t, ctx, cause, BPF_CORE_READ(inode, i_sb, s_dev));
	return 0;
}

ALWAYS int nfs_end(u32 cause)
{
	scope_end(cause);
	return 0;
}

SEC("fentry/nfs_file_read")
int BPF_PROG(on_nfs_read, struct kiocb *iocb)
{
	return nfs_begin(ctx, ABI_CAUSE_NFS_READ, BPF_CORE_READ(iocb, ki_filp, f_inode));
}

SEC("fexit/nfs_file_read")
int BPF_PROG(on_nfs_read_done)
{
	return nfs_end(ABI_CAUSE_NFS_READ);
}

SEC("fentry/nfs_file_write")
int BPF_PROG(on_nfs_write, struct kiocb *iocb)
{
	return nfs_begin(ctx, ABI_CAUSE_NFS_WRITE, BPF_CORE_READ(iocb, ki_filp, f_inode));
}

SEC("fexit/nfs_file_write")
int BPF_PROG(on_nfs_write_done)
{
	return nfs_end(ABI_CAUSE_NFS_WRITE);
}

/* fsync, msync. */
SEC("tp_btf/nfs_fsync_enter")
int BPF_PROG(on_nfs_sync, struct inode *inode)
{
	return nfs_begin(ctx, ABI_CAUSE_NFS_WRITE, inode);
}

SEC("tp_btf/nfs_fsync_exit")
int BPF_PROG(on_nfs_sync_done)
{
	return nfs_end(ABI_CAUSE_NFS_WRITE);
}

/* close, truncate, locks: all that was written goes to the server before. */
SEC("tp_btf/nfs_writeback_inode_enter")
int BPF_PROG(on_nfs_flush, struct inode *inode)
{
	return nfs_begin(ctx, ABI_CAUSE_NFS_WRITE, inode);
}

SEC("tp_btf/nfs_writeback_inode_exit")
int BPF_PROG(on_nfs_flush_done)
{
	return nfs_end(ABI_CAUSE_NFS_WRITE);
}

/* A page fault in a mapped file of a server's. Its end is not told the file: the mapping may be gone by then. */
SEC("fentry/filemap_fault")
int BPF_PROG(on_nfs_fault, struct vm_fault *fault)
{
	struct thread *t = thread_tagged();
	struct inode *inode = t ? BPF_CORE_READ(fault, vma, vm_file, f_inode) : NULL;

	if (inode && BPF_CORE_READ(inode, i_sb, s_magic) == NFS_SUPER_MAGIC) {
		nfs_begin(ctx, ABI_CAUSE_NFS_READ, inode);
		t->scopes.of_fault = 1;
	}
	return 0;
}

SEC("fexit/filemap_fault")
int BPF_PROG(on_nfs_fault_done)
{
	struct thread *t = thread_find(bpf_get_current_task_btf());

	if (t && t->scopes.of_fault) {
		t->scopes.of_fault = 0;
		scope_leave(t, ABI_CAUSE_NFS_READ);
	}
	return 0;
}

/* A thread waits for the answer to a call that it has sent itself. Of which file system is not known here. */
SEC("fentry/rpc_wait_bit_killable")
int BPF_PROG(on_rpc_wait)
{
	scope_begin(ctx, ABI_CAUSE_NFS_READ, 0);
	return 0;
}

SEC("fexit/rpc_wait_bit_killable")
int BPF_PROG(on_rpc_waited)
{
	return nfs_end(ABI_CAUSE_NFS_READ);
}
