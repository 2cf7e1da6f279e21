/* Files whose calls are tagged: while a thread reads, writes or syncs one, it holds a tag with the file's name, though its program
 * pushes none.
 *
 *   a folder is given    user space opens it; the iterator finds it among our own files, by its number: tag_folders
 *   a file is opened     security_file_open: one that lies in such a folder, at any depth, is tagged: tagged_files
 *   a call on it         vfs_write and the like begin: the thread's tag is the file's; they end: it is what it was before
 *   the inode goes       security_inode_free: nothing is left
 *
 * An inode is known by its address. Where that one's end was not seen (the kernel leaves programs out while a preempted thread is in
 * them), the next inode there has another number. A call within a call (a page fault while a buffer is copied) belongs to the outer one. */
#include "bpf/files.bpf.h"
#include "bpf/kernel_drivers.bpf.h"
#include "bpf/log_take.bpf.h"
#include "bpf/wait.bpf.h"

#define S_IFREG 0100000

#define FOLDERS_DEEP 32

/* What user space looks for among its own open files: by descriptor. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_FOLDERS_MAX);
	__type(key, u32);
	__type(value, struct abi_folder);
} folder_fds SEC(".maps");

/* By address of the folder's inode, which user space keeps open. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_FOLDERS_MAX);
	__type(key, u64);
	__type(value, struct abi_folder);
} tag_folders SEC(".maps");

struct tagged_file {
	u64 number; /* of the inode */
	u64 folder; /* key of tag_folders */
	u64 tags[ABI_FILE_CALLS];
};

/* By address of the inode, until that is freed, or too many others were used since. User space makes room for them where a folder is
 * given. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct tagged_file);
} tagged_files SEC(".maps");

/* A bit for each that ever was in there: most inodes need no look at the map. */
#define FILE_BITS 4096
volatile OWN_LINE __u64 file_bits[FILE_BITS / 64] = {};

/* The profiler itself: what it does in a tagged folder is not told. */
__u32 own_tgid = 0;

ALWAYS u32 file_bit(u64 inode)
{
	return hash_mix(0, inode) % FILE_BITS;
}

ALWAYS bool file_may_be_known(u64 inode)
{
	u32 bit = file_bit(inode);

	return file_bits[bit / 64] >> bit % 64 & 1;
}

ALWAYS struct tagged_file *file_known(struct inode *inode)
{
	struct tagged_file *tagged;
	u64 key = (u64)inode;

	if (!file_may_be_known(key))
		return NULL;
	tagged = bpf_map_lookup_elem(&tagged_files, &key);
	return tagged && tagged->number == BPF_CORE_READ(inode, i_ino) ? tagged : NULL;
}

struct folder_search {
	struct dentry *at;
	u64 found;
};

/* One folder up; 1 ends the loop. */
ALWAYS long next_folder(u32 i, struct folder_search *search)
{
	struct dentry *at = search->at, *above = BPF_CORE_READ(at, d_parent);
	u64 inode = (u64)BPF_CORE_READ(above, d_inode);

	if (bpf_map_lookup_elem(&tag_folders, &inode))
		search->found = inode;
	if (search->found || above == at)
		return 1;
	search->at = above;
	return 0;
}

LOOP_OF(next_folder, struct folder_search)

/* The file is opened, or is in use: it is tagged if it lies in one of the folders now, by the name that it has now. */
ALWAYS void file_tag_it(struct file *file)
{
	struct folder_search search = { .at = BPF_CORE_READ(file, f_path.dentry) };
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct tagged_file fresh = { .number = BPF_CORE_READ(inode, i_ino) };
	u64 key = (u64)inode;
	u32 bit = file_bit(key);

	if (!inode || (BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG)
		return;
	next_folder_loop(FOLDERS_DEEP, &search);
	fresh.folder = search.found;
	if (search.found) {
		__sync_fetch_and_or(&file_bits[bit / 64], 1ULL << bit % 64);
		bpf_map_update_elem(&tagged_files, &key, &fresh, BPF_ANY);
	} else if (file_may_be_known(key)) {
		bpf_map_delete_elem(&tagged_files, &key);
	}
}

SEC("fentry/security_file_open")
int BPF_PROG(on_file_opened, struct file *file)
{
	file_tag_it(file);
	return 0;
}

SEC("fentry/security_inode_free")
int BPF_PROG(on_inode_freed, struct inode *inode)
{
	u64 key = as_number(inode);

	if (file_may_be_known(key))
		bpf_map_delete_elem(&tagged_files, &key);
	return 0;
}

/* Run twice: our own folders are known after the first, so that the second tags all files in them that are open already. */
SEC("iter/task_file")
int on_iter_file(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct abi_folder *folder;
	u32 fd = ctx->fd;
	u64 key;

	if (!task || !file)
		return 0;
	file_tag_it(file);
	if (task->tgid != bpf_get_current_task_btf()->tgid)
		return 0;
	own_tgid = task->tgid;
	folder = bpf_map_lookup_elem(&folder_fds, &fd);
	key = (u64)file->f_inode;
	if (folder)
		bpf_map_update_elem(&tag_folders, &key, folder, BPF_ANY);
	return 0;
}

/* … and those that are mapped, whose descriptor is closed. */
SEC("iter/task_vma")
int on_iter_mapping(struct bpf_iter__task_vma *ctx)
{
	struct vm_area_struct *vma = ctx->vma;
	struct file *file = vma ? BPF_CORE_READ(vma, vm_file) : NULL;

	if (file)
		file_tag_it(file);
	return 0;
}

/* The tag of such calls on the file, whose name may have left the map since the last. */
ALWAYS u64 tag_of_file(struct context_scratch *s, struct tagged_file *tagged, struct file *file, u32 call)
{
	struct abi_folder *folder;
	u64 tag = tagged->tags[call];
	u32 len;

	if (tag && bpf_map_lookup_elem(&tags, &tag))
		return tag;
	folder = bpf_map_lookup_elem(&tag_folders, &tagged->folder);
	if (!folder)
		return 0;
	__builtin_memset(&s->tag, 0, sizeof(s->tag));
	s->tag.id = tagged->number;
	s->tag.source = ABI_TAG_FILE;
	len = folder->len[call];
	barrier_var(len);
	len &= ABI_FOLDER_NAME_LEN - 1;
	bpf_probe_read_kernel(s->tag.name, len, folder->name[call]);
	bpf_probe_read_kernel_str(s->tag.name + len, ABI_TAG_NAME_LEN - ABI_FOLDER_NAME_LEN,
	                          BPF_CORE_READ(file, f_path.dentry, d_name.name));
	tagged->tags[call] = tag_intern(&s->tag);
	return tagged->tags[call];
}

/* The current thread's tag is `tag` from now on, in the call whose arguments are at `frame`; 0: what it was before. */
ALWAYS void file_retag(struct task_struct *task, struct thread *t, u64 tag, u64 frame)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	bool first = n_tagged <= 0;

	if (t->watches_context)
		thread_read_context(task, t);
	t->reading = 1;
	if (t->has_log)
		log_take_slowly(task, t);
	wait_look(task, t);
	t->file_tag = tag;
	t->file_frame = frame;
	t->file_ip = regs ? regs->ip : 0;
	t->file_sp = regs ? regs->sp : 0;
	t->in_file = tag != 0;
	thread_retag(task, t);
	t->reading = 0;
	if (first && tag)
		announce_tagged(t, bpf_ktime_get_ns());
}

_Static_assert(ABI_FILE_CALLS == 2, "bounds by masks: those by a comparison are of a copy for the verifier");

/* A function of its own, so that the verifier walks through it once. */
__weak __noinline int file_call_begins(u64 frame, u64 address, u32 call)
{
	struct file *file = (struct file *)address;
	struct tagged_file *tagged = file_known(BPF_CORE_READ(file, f_inode));
	struct task_struct *task = bpf_get_current_task_btf();
	struct context_scratch *s;
	struct thread *t;
	u64 tag;

	if (!tagged || serves_others(task) || task->tgid == own_tgid)
		return 0;
	t = changed_thread(task, true, bpf_ktime_get_ns());
	s = scratch_of(task);
	if (!t || !s || t->reading || (t->in_file && frame < t->file_frame && !file_call_left(task, t)))
		return 0;
	barrier_var(call);
	call &= ABI_FILE_CALLS - 1;
	tag = tag_of_file(s, tagged, file, call);
	if (tag)
		file_retag(task, t, tag, frame);
	return 0;
}

__weak __noinline int file_call_ends(u64 frame)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_find(task);

	if (t && t->in_file && t->file_frame == frame)
		file_retag(task, t, 0, 0);
	return 0;
}

/* Most calls are on files that are not tagged. */
ALWAYS void file_begins(const void *ctx, struct file *file, u32 call)
{
	if (file_may_be_known((u64)BPF_CORE_READ(file, f_inode)))
		file_call_begins(as_number(ctx), as_number(file), call);
}

/* Two programs on a function that does something with the file `of`. */
#define ON_FILE_CALL(name, function, call, of)                                                               \
	ON_CALL(name, function, file_begins(ctx, of, call), file_call_ends(as_number(ctx)))

#define FIRST_ARGUMENT ((struct file *)ctx[0])

ON_FILE_CALL(file_read, vfs_read, ABI_FILE_READ, FIRST_ARGUMENT)
ON_FILE_CALL(file_readv, vfs_readv, ABI_FILE_READ, FIRST_ARGUMENT)
ON_FILE_CALL(file_write, vfs_write, ABI_FILE_WRITE, FIRST_ARGUMENT)
ON_FILE_CALL(file_writev, vfs_writev, ABI_FILE_WRITE, FIRST_ARGUMENT)
ON_FILE_CALL(file_sync, vfs_fsync_range, ABI_FILE_WRITE, FIRST_ARGUMENT)
/* Newer kernels (7.2) have that function as a part of this. */
ON_FILE_CALL(file_fsync, do_fsync, ABI_FILE_WRITE, file_of(bpf_get_current_task_btf(), (u32)ctx[0]))
ON_FILE_CALL(file_allocate, vfs_fallocate, ABI_FILE_WRITE, FIRST_ARGUMENT)
ON_FILE_CALL(file_fault, filemap_fault, ABI_FILE_READ, BPF_CORE_READ((struct vm_fault *)ctx[0], vma, vm_file))
