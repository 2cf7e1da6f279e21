/* What calls on tagged files have done, for the record of checkpoints: told when they end (files.bpf.c has the hooks). */
#ifndef STALLPROF_CHECKPOINT_BPF_H
#define STALLPROF_CHECKPOINT_BPF_H

#include "bpf/tagged.bpf.h"

/* The buffers of a call that are looked at to know how much it was asked to write. */
#define BUFFERS_LOOKED_AT 16

/* A write of `asked` bytes has ended, 0: how many is not known; the number at the address `position` is behind what was written. A function
 * of its own, as what these hooks have on the stack adds up. */
VERIFIED_ONCE int file_tell_write(u64 address, u64 asked, u64 position, s64 result)
{
	struct file *file = (struct file *)address;
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct abi_tagged_file *tagged = file_known(inode);
	struct file___flags *modes = (void *)file;
	struct abi_file_event event = {};

	if (!tagged || is_own(bpf_get_current_pid_tgid() >> 32))
		return 0;
	file_event_begin(&event, ABI_FILE_WROTE, inode);
	bpf_probe_read_kernel(&event.offset, sizeof(event.offset), (void *)position);
	event.offset -= result > 0 ? result : 0;
	event.length = asked;
	event.result = result;
	event.flags = BPF_CORE_READ(modes, f_flags) & O_DSYNC ? ABI_FILE_SYNCHRONOUS : 0;
	file_event_send(tagged, &event, sizeof(event));
	return 0;
}

/* Most calls are on files that are not tagged. */
ALWAYS bool file_may_be_tagged(struct file *file)
{
	return file_may_be_known((u64)BPF_CORE_READ(file, f_inode));
}

/* How much the buffers hold in all; 0: there are more of them than are looked at, or they cannot be read. */
ALWAYS u64 bytes_of_buffers(const struct iovec *buffers, u64 n)
{
	struct iovec buffer;
	u64 sum = 0;
	u32 i;

	if (n > BUFFERS_LOOKED_AT)
		return 0;
	for (i = 0; i < BUFFERS_LOOKED_AT; i++) {
		if (i >= n)
			break;
		if (bpf_probe_read_user(&buffer, sizeof(buffer), buffers + i))
			return 0;
		sum += buffer.len;
	}
	return sum;
}

/* Since when a thread is in the call that syncs the file. */
struct file_sync {
	u64 inode, begin_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* user space sets it */
	__type(key, u64);
	__type(value, struct file_sync);
} file_syncs SEC(".maps") __weak;

/* Whether its syncs are told: a known file, or a folder. */
ALWAYS bool sync_is_told(struct inode *inode)
{
	return inode && (file_known(inode) || inode_kind(inode) == S_IFDIR);
}

/* The outer one of two calls within each other is the one that counts. */
VERIFIED_ONCE int file_sync_begins(u64 address)
{
	struct file *file = (struct file *)address;
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct file_sync sync = { .inode = (u64)inode, .begin_ns = bpf_ktime_get_ns() }, *known;
	u64 key = bpf_get_current_pid_tgid();

	if (!sync_is_told(inode))
		return 0;
	known = bpf_map_lookup_elem(&file_syncs, &key);
	if ((!known || known->inode != sync.inode) && bpf_map_update_elem(&file_syncs, &key, &sync, BPF_ANY))
		COUNT(file_events_lost);
	return 0;
}

/* Bytes from `first` to `last` are synced, or not, as the result says. */
VERIFIED_ONCE int file_tell_sync(u64 address, u64 first, u64 last, int result)
{
	struct file *file = (struct file *)address;
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	u64 key = bpf_get_current_pid_tgid();
	struct abi_file_event event = {};
	struct file_sync *sync;

	if (!sync_is_told(inode)) {
		bpf_map_delete_elem(&file_syncs, &key); /* it may have been told when the call began */
		return 0;
	}
	sync = bpf_map_lookup_elem(&file_syncs, &key);
	if (!sync || is_own(key >> 32))
		return 0;
	if (sync->inode != (u64)inode) {
		bpf_map_delete_elem(&file_syncs, &key); /* of a call whose end was not seen */
		return 0;
	}
	file_event_begin(&event, inode_kind(inode) == S_IFDIR ? ABI_FILE_DIR_SYNCED : ABI_FILE_SYNCED, inode);
	event.begin_ns = sync->begin_ns;
	event.offset = first;
	event.length = last - first + 1 ? last - first + 1 : last;
	event.result = result;
	event.flags = flags_of(inode);
	file_event_send(file_known(inode), &event, sizeof(event));
	bpf_map_delete_elem(&file_syncs, &key);
	return 0;
}

#endif
