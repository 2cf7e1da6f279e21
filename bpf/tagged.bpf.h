/* Tagged files: what is known of an inode, and telling user space what is done with one (bpf/abi_files.h).
 *
 * An inode is known by its address. Where that one's end was not seen (the kernel leaves programs out while a preempted thread is in
 * them), the next inode there has another number, or another generation of it. */
#ifndef STALLPROF_TAGGED_BPF_H
#define STALLPROF_TAGGED_BPF_H

#include "bpf/kernel_fs.bpf.h"
#include "bpf/thread.bpf.h"

/* By address of the folder's inode, which user space keeps open, or ABI_XATTR_FOLDER. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_FOLDERS_MAX);
	__type(key, u64);
	__type(value, struct abi_folder);
} tag_folders SEC(".maps") __weak;

/* By address of the inode, until that is freed, or too many others were used since. User space makes room for them where files are to be
 * tagged. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct abi_tagged_file);
} tagged_files SEC(".maps") __weak;

/* struct abi_file_event, some with names behind it. User space makes it as large as it takes. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} file_events SEC(".maps") __weak;

/* A bit for each that ever was in there: most inodes need no look at the map. */
volatile __weak OWN_LINE __u64 file_bits[ABI_FILE_BITS / 64] = {};

/* The profiler itself, and the process that reads files for it: what they do in a tagged folder is not told. */
__weak __u32 own_tgid = 0;
__weak __u32 asker_tgid = 0;

ALWAYS bool is_own(u32 tgid)
{
	return tgid == own_tgid || tgid == asker_tgid;
}

ALWAYS bool file_may_be_known(u64 inode)
{
	u32 bit = abi_file_bit(inode);

	return file_bits[bit / 64] >> bit % 64 & 1;
}

ALWAYS void file_bit_set(u64 inode)
{
	u32 bit = abi_file_bit(inode);

	__sync_fetch_and_or(&file_bits[bit / 64], 1ULL << bit % 64);
}

ALWAYS struct abi_tagged_file *file_known(struct inode *inode)
{
	struct abi_tagged_file *tagged;
	u64 key = (u64)inode;

	if (!file_may_be_known(key))
		return NULL;
	tagged = bpf_map_lookup_elem(&tagged_files, &key);
	if (!tagged || tagged->number != BPF_CORE_READ(inode, i_ino) ||
	    tagged->generation != BPF_CORE_READ(inode, i_generation))
		return NULL;
	return tagged;
}

ALWAYS u32 inode_kind(struct inode *inode)
{
	return BPF_CORE_READ(inode, i_mode) & S_IFMT;
}

/* Whether pages of the file are dirty, on their way to the device, or marked to be: the page cache's own marks of that are the upper bits
 * of its flags, the lower ones are said when it is made. Which bits exactly differs with the kernel. */
#define MARKS_FROM 16

ALWAYS bool file_is_dirty(struct inode *inode)
{
	struct inode___data *data = (void *)inode;

	return BPF_CORE_READ(data, i_mapping, i_pages.xa_flags) >> MARKS_FROM;
}

ALWAYS u32 flags_of(struct inode *inode)
{
	struct inode___data *data = (void *)inode;
	u32 flags = file_is_dirty(inode) ? ABI_FILE_DIRTY : 0;

	if (inode_kind(inode) == S_IFDIR)
		return ABI_FILE_FOLDER;
	return BPF_CORE_READ(data, i_size) ? flags : flags | ABI_FILE_EMPTY;
}

/* Begins an event of the inode at this moment, in the current thread. */
ALWAYS void file_event_begin(struct abi_file_event *event, u32 kind, struct inode *inode)
{
	u64 ids = bpf_get_current_pid_tgid();

	event->kind = kind;
	event->inode = as_number(inode);
	event->number = BPF_CORE_READ(inode, i_ino);
	event->generation = BPF_CORE_READ(inode, i_generation);
	event->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	event->tgid = ids >> 32;
	event->tid = ids;
	event->end_ns = bpf_ktime_get_ns();
	event->begin_ns = event->end_ns;
}

/* `tagged` NULL: nothing is known of the inode. False: there was no room. */
ALWAYS bool file_event_send(struct abi_tagged_file *tagged, struct abi_file_event *event, u32 size)
{
	struct abi_folder *folder;

	if (tagged) {
		event->lost = tagged->lost;
		folder = bpf_map_lookup_elem(&tag_folders, &tagged->folder);
		event->source = folder ? folder->source : 0;
	}
	if (!bpf_ringbuf_output(&file_events, event, size, ring_wake(&file_events)))
		return true;
	if (event->kind != ABI_FILE_ASKED)
		COUNT(file_events_lost);
	if (tagged)
		__sync_fetch_and_add(&tagged->lost, 1);
	return false;
}

/* The hook's argument of that index, where it is a pointer to a number or a text: before Linux 5.17 the verifier lets nobody read that. */
ALWAYS u64 pointer_argument(const unsigned long long *ctx, u32 i)
{
	u64 pointer = 0;

	bpf_probe_read_kernel(&pointer, sizeof(pointer), ctx + i);
	return pointer;
}

/* --- names --------------------------------------------------------------------------------------------- */

/* Each program that sends names has its own: it is not run again on a CPU where it is being run. */
enum names_user {
	NAMES_OPENED,
	NAMES_RENAMES,
	NAMES_RENAMED,
	NAMES_XATTR,
	NAMES_ITER,
	NAMES_MAPPED,
	NAMES_USERS
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NAMES_USERS);
	__type(key, u32);
	__type(value, struct abi_file_named);
} file_names SEC(".maps") __weak;

struct names_walk {
	struct dentry *at;
	struct abi_file_named *to;
};

/* One folder up; 1 ends the loop. */
ALWAYS long next_name(u32 i, struct names_walk *walk)
{
	struct dentry *at = walk->at, *above = BPF_CORE_READ(at, d_parent);
	struct abi_file_named *to = walk->to;
	u32 len = to->event.names_len;
	long n;

	if (above == at) {
		to->event.flags &= ~ABI_FILE_CUT;
		return 1;
	}
	barrier_var(len);
	if (len > ABI_FILE_NAMES_MAX)
		return 1;
	n = bpf_probe_read_kernel_str(to->names + len, ABI_FILE_NAME_MAX, BPF_CORE_READ(at, d_name.name));
	if (n <= 0)
		return 1;
	to->event.names_len = len + n;
	walk->at = above;
	return 0;
}

LOOP_OF(next_name, struct names_walk)

#define NAMES_DEEP 64

/* Room for an event with names; NULL: there is none. */
ALWAYS struct abi_file_named *names_begin(u32 user, u32 kind, struct inode *inode)
{
	struct abi_file_named *named = bpf_map_lookup_elem(&file_names, &user);

	if (!named)
		return NULL;
	__builtin_memset(&named->event, 0, sizeof(named->event));
	file_event_begin(&named->event, kind, inode);
	return named;
}

/* False: there was no room. */
ALWAYS bool names_send(struct abi_file_named *named, struct abi_tagged_file *tagged, struct dentry *dentry)
{
	struct names_walk walk = { .at = dentry, .to = named };
	u32 len;

	named->event.flags |= ABI_FILE_CUT;
	next_name_loop(NAMES_DEEP, &walk);
	len = named->event.names_len;
	barrier_var(len);
	if (len > ABI_FILE_NAMES_MAX + ABI_FILE_NAME_MAX)
		return false;
	return file_event_send(tagged, &named->event, sizeof(named->event) + len);
}

#endif
