/* Files whose calls are tagged: while a thread reads, writes or syncs one, it holds a tag with the file's name, though its program
 * pushes none.
 *
 *   a folder is given    user space opens it; the iterator finds it among our own files, by its number: tag_folders
 *   a file is opened     security_file_open: one that lies in such a folder, at any depth, is tagged: tagged_files
 *   a call on it         vfs_write and the like begin: the thread's tag is the file's; they end: it is what it was before
 *   the inode goes       security_inode_free: nothing is left
 *
 * A file may also be tagged for an xattr that it has. User space is asked when it is opened, and answers by an entry in tagged_files;
 * that the xattr is given to it while we look is seen (checkpoint.bpf.c).
 *
 * A call within a call (a page fault while a buffer is copied) belongs to the outer one. */
#include "bpf/checkpoint.bpf.h"
#include "bpf/files.bpf.h"
#include "bpf/kernel_drivers.bpf.h"
#include "bpf/log_take.bpf.h"
#include "bpf/wait.bpf.h"

#define FOLDERS_DEEP 32

/* What user space looks for among its own open files: by descriptor. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_FOLDERS_MAX);
	__type(key, u32);
	__type(value, struct abi_folder);
} folder_fds SEC(".maps");

/* There is a process that reads files for the profiler: a child of that name (ABI_ASKER_NAME). */
const volatile bool has_asker = false;
__u64 asker_began_ns = 0;

/* How many more times user space may be asked about xattrs, until it says so again; and whether it is asked at all. */
__s64 xattr_asks = 0;
const volatile bool asks_xattrs = false;

/* Inodes that it was asked about: by address, the number and its generation. */
struct asked_inode {
	u64 number;
	u32 generation, unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct asked_inode);
} xattr_asked SEC(".maps");

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

/* The file is in that folder. It gets its name from now on by the one that it has now; what was lost of it is kept. */
ALWAYS struct abi_tagged_file *file_tag_by(struct inode *inode, u64 folder)
{
	struct abi_tagged_file *known = file_known(inode), fresh = { .folder = folder };
	u64 key = (u64)inode;

	if (known) {
		known->folder = folder;
		known->tags[ABI_FILE_READ] = 0;
		known->tags[ABI_FILE_WRITE] = 0;
		return known;
	}
	fresh.number = BPF_CORE_READ(inode, i_ino);
	fresh.generation = BPF_CORE_READ(inode, i_generation);
	file_bit_set(key);
	if (bpf_map_update_elem(&tagged_files, &key, &fresh, BPF_ANY))
		COUNT(file_events_lost);
	return file_known(inode);
}

/* It is in none of the folders. True: it is tagged all the same, for its xattr. */
ALWAYS bool file_is_outside(struct inode *inode)
{
	struct abi_tagged_file *known = file_known(inode);
	u64 key = (u64)inode;

	if (!known)
		return false;
	if (known->folder == ABI_XATTR_FOLDER) {
		known->tags[ABI_FILE_READ] = 0;
		known->tags[ABI_FILE_WRITE] = 0;
		return true;
	}
	bpf_map_delete_elem(&tagged_files, &key);
	return false;
}

/* Whether the file, opened in that mode, may have an xattr that matters: one that is new, or empty and to be read, has not. */
ALWAYS bool may_have_xattr(struct inode *inode, u32 mode)
{
	struct super_block___xattrs *sb = (void *)BPF_CORE_READ(inode, i_sb);
	struct inode___data *data = (void *)inode;

	return asks_xattrs && !(mode & FMODE_CREATED) && BPF_CORE_READ(sb, s_xattr) &&
	       (mode & FMODE_WRITE || BPF_CORE_READ(data, i_size));
}

/* Whether user space was asked about the inode before. */
ALWAYS bool xattr_was_asked(struct inode *inode)
{
	u64 key = (u64)inode;
	struct asked_inode *known = bpf_map_lookup_elem(&xattr_asked, &key);

	return known && known->number == BPF_CORE_READ(inode, i_ino) &&
	       known->generation == BPF_CORE_READ(inode, i_generation);
}

/* Tells of the file, by the name that it has now. False: there was no room. */
ALWAYS bool file_tell_names(struct file *file, u32 tgid, u32 user, u32 kind, struct abi_tagged_file *tagged)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct file___flags *modes = (void *)file;
	struct abi_file_named *named = names_begin(user, kind, inode);

	if (!named)
		return false;
	named->event.tgid = tgid;
	named->event.flags = flags_of(inode);
	if (BPF_CORE_READ(modes, f_flags) & O_TRUNC)
		named->event.flags |= ABI_FILE_EMPTY;
	if (BPF_CORE_READ(modes, f_mode) & FMODE_WRITE)
		named->event.flags |= ABI_FILE_WRITABLE;
	return names_send(named, tagged, BPF_CORE_READ(file, f_path.dentry));
}

/* User space is asked, if it allows that now. It is asked again, when the file is opened again, if the question is lost, or if it could
 * not be answered: user space takes it out of the map then. */
ALWAYS void ask_for_xattr(struct file *file, struct inode *inode, u32 tgid, u32 user)
{
	struct asked_inode asked = {};
	u64 key = (u64)inode;

	if (__sync_fetch_and_add(&xattr_asks, -1) <= 0) {
		COUNT(file_xattrs_unasked);
		return;
	}
	asked.number = BPF_CORE_READ(inode, i_ino);
	asked.generation = BPF_CORE_READ(inode, i_generation);
	bpf_map_update_elem(&xattr_asked, &key, &asked, BPF_ANY);
	if (file_tell_names(file, tgid, user, ABI_FILE_ASKED, NULL))
		return;
	COUNT(file_xattrs_unasked);
	bpf_map_delete_elem(&xattr_asked, &key);
}

/* The file is opened, or is in use, by that process: it is tagged if it lies in one of the folders now, by the name that it has now. */
ALWAYS void file_tag_it(struct file *file, u32 tgid, u32 user)
{
	struct folder_search search = { .at = BPF_CORE_READ(file, f_path.dentry) };
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct abi_tagged_file *tagged = NULL;
	struct file___flags *modes = (void *)file;
	u32 mode = BPF_CORE_READ(modes, f_mode);

	if (!inode || inode_kind(inode) != S_IFREG || is_own(tgid))
		return;
	next_folder_loop(FOLDERS_DEEP, &search);
	if (search.found)
		tagged = file_tag_by(inode, search.found);
	else if (file_is_outside(inode))
		tagged = file_known(inode);
	if (tagged && mode & FMODE_WRITE)
		file_tell_names(file, tgid, user, ABI_FILE_OPENED, tagged);
	else if (!tagged && may_have_xattr(inode, mode) && !xattr_was_asked(inode))
		ask_for_xattr(file, inode, tgid, user);
}

SEC("fentry/security_file_open")
int BPF_PROG(on_file_opened, struct file *file)
{
	file_tag_it(file, bpf_get_current_pid_tgid() >> 32, NAMES_OPENED);
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

/* By its name, as the profiler knows only the number that it has in their namespace. */
ALWAYS bool is_asker(struct task_struct *task)
{
	const char name[16] = ABI_ASKER_NAME;
	char comm[16] = {};
	u32 i;

	if (BPF_CORE_READ(task, real_parent, tgid) != bpf_get_current_task_btf()->tgid)
		return false;
	BPF_CORE_READ_STR_INTO(&comm, task, comm);
	for (i = 0; i < sizeof(name); i++)
		if (comm[i] != name[i])
			return false;
	return true;
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
	if (task->tgid != bpf_get_current_task_btf()->tgid) {
		if (has_asker && is_asker(task) && task->start_boottime >= asker_began_ns) {
			asker_began_ns = task->start_boottime; /* another may be about to end */
			asker_tgid = task->tgid;
		}
		file_tag_it(file, task->tgid, NAMES_ITER);
		return 0;
	}
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
	struct task_struct *task = ctx->task;

	if (file && task)
		file_tag_it(file, task->tgid, NAMES_MAPPED);
	return 0;
}

/* The tag of such calls on the file, whose name may have left the map since the last. */
ALWAYS u64 tag_of_file(struct context_scratch *s, struct abi_tagged_file *tagged, struct file *file, u32 call)
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
	wait_look(t);
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

VERIFIED_ONCE int file_call_begins(u64 frame, u64 address, u32 call)
{
	struct file *file = (struct file *)address;
	struct abi_tagged_file *tagged = file_known(BPF_CORE_READ(file, f_inode));
	struct task_struct *task = bpf_get_current_task_btf();
	struct context_scratch *s;
	struct thread *t;
	u64 tag;

	if (!tagged || serves_others(task) || is_own(task->tgid))
		return 0;
	t = changed_thread(task, true, bpf_ktime_get_ns());
	s = scratch_of(task);
	if (!t || !s || t->reading || (t->in_file && frame < t->file_frame && !file_call_left(task, t)))
		return 0;
	barrier_var(call);
	call &= ABI_FILE_CALLS - 1;
	t->reading = 1; /* who interrupts here leaves the scratch alone */
	tag = tag_of_file(s, tagged, file, call);
	t->reading = 0;
	if (tag)
		file_retag(task, t, tag, frame);
	return 0;
}

VERIFIED_ONCE int file_call_ends(u64 frame)
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

/* Two programs on a function that does something with the file `of`; `began` and `ended` are done besides. */
#define ON_FILE_CALL(name, function, call, of, began, ended)                                                 \
	ON_CALL(                                                                                             \
	        name, function,                                                                              \
	        {                                                                                            \
		        file_begins(ctx, of, call);                                                          \
		        began;                                                                               \
	        },                                                                                           \
	        {                                                                                            \
		        ended;                                                                               \
		        file_call_ends(as_number(ctx));                                                      \
	        })

#define FIRST_ARGUMENT   ((struct file *)ctx[0])
#define BY_DESCRIPTOR    file_of(bpf_get_current_task_btf(), (u32)ctx[0])
#define BY_REGISTER      file_of(bpf_get_current_task_btf(), (u32)BPF_CORE_READ((struct pt_regs *)ctx[0], di))
#define LAST_BYTE        (~0ULL >> 1)
#define NOTHING          (void)0
#define BYTES_OF_BUFFERS bytes_of_buffers((const struct iovec *)ctx[1], ctx[2])

ON_FILE_CALL(file_read, vfs_read, ABI_FILE_READ, FIRST_ARGUMENT, NOTHING, NOTHING)
ON_FILE_CALL(file_readv, vfs_readv, ABI_FILE_READ, FIRST_ARGUMENT, NOTHING, NOTHING)
ON_FILE_CALL(file_write, vfs_write, ABI_FILE_WRITE, FIRST_ARGUMENT, NOTHING, {
	if (file_may_be_tagged(FIRST_ARGUMENT))
		file_tell_write(as_number(FIRST_ARGUMENT), ctx[2], pointer_argument(ctx, 3), ctx[4]);
})
ON_FILE_CALL(file_writev, vfs_writev, ABI_FILE_WRITE, FIRST_ARGUMENT, NOTHING, {
	if (file_may_be_tagged(FIRST_ARGUMENT))
		file_tell_write(as_number(FIRST_ARGUMENT), BYTES_OF_BUFFERS, pointer_argument(ctx, 3),
		                ctx[5]);
})
ON_FILE_CALL(file_sync, vfs_fsync_range, ABI_FILE_WRITE, FIRST_ARGUMENT,
             file_sync_begins(as_number(FIRST_ARGUMENT)),
             file_tell_sync(as_number(FIRST_ARGUMENT), ctx[1], ctx[2], ctx[4]))
/* Newer kernels (7.2) have that function as a part of this. */
ON_FILE_CALL(file_fsync, do_fsync, ABI_FILE_WRITE, BY_DESCRIPTOR, file_sync_begins(as_number(BY_DESCRIPTOR)),
             file_tell_sync(as_number(BY_DESCRIPTOR), 0, LAST_BYTE, ctx[2]))
/* Older ones (6.1) have both as a part of the system call, where data alone is synced. */
ON_FILE_CALL(file_fdatasync, __x64_sys_fdatasync, ABI_FILE_WRITE, BY_REGISTER,
             file_sync_begins(as_number(BY_REGISTER)),
             file_tell_sync(as_number(BY_REGISTER), 0, LAST_BYTE, ctx[1]))
ON_FILE_CALL(file_allocate, vfs_fallocate, ABI_FILE_WRITE, FIRST_ARGUMENT, NOTHING, NOTHING)
ON_FILE_CALL(file_fault, filemap_fault, ABI_FILE_READ, BPF_CORE_READ((struct vm_fault *)ctx[0], vma, vm_file),
             NOTHING, NOTHING)
