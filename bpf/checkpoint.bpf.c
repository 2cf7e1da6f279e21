/* What becomes of tagged files besides the calls on them: the requests that write them, their names, their end, and the xattr that tags
 * one. See bpf/abi_files.h for what is told. */
#include "bpf/checkpoint.bpf.h"
#include "bpf/requests.bpf.h"

/* A file with this xattr is tagged, whatever folder it is in; "": none is. Filled with zeroes, and compared in words. */
#define XATTR_WORDS (XATTR_NAME / 8)
const volatile __u64 tag_xattr[XATTR_WORDS] = {};

/* --- requests ------------------------------------------------------------------------------------------- */

/* Where in its file the page's memory, from `offset` on, belongs. */
ALWAYS u64 place_in_file(struct page *page, u32 offset)
{
	struct page *first = first_of_folio(page);
	struct page___indexed *indexed = (void *)first;
	struct page___since_6_16 *newer = (void *)first;
	u64 index;

	if (HAS_FIELD(newer, __folio_index))
		index = BPF_CORE_READ(newer, __folio_index);
	else
		index = BPF_CORE_READ(indexed, index);
	index += (as_number(page) - as_number(first)) / bpf_core_type_size(struct page);
	return (index << 12) + offset;
}

ALWAYS void vector_at(struct bio_vec___whole *to, struct bio_vec *vectors, u64 i)
{
	bpf_probe_read_kernel(to, sizeof(*to), (void *)vectors + i * bpf_core_type_size(struct bio_vec));
}

/* Sets what the bio has written. Whether that is one range of the file its last page tells; a bio that was cut out of another is taken
 * for one. */
ALWAYS void range_of_bio(struct abi_file_event *event, struct bio *bio)
{
	struct bio___whole *whole = (void *)bio;
	struct bio_vec *vectors = BPF_CORE_READ(whole, bi_io_vec);
	u32 i = BPF_CORE_READ(whole, bi_iter.bi_idx), n = BPF_CORE_READ(whole, bi_vcnt);
	u32 done = BPF_CORE_READ(whole, bi_iter.bi_bvec_done);
	struct bio_vec___whole vector = {};

	vector_at(&vector, vectors, i);
	event->offset = place_in_file(vector.bv_page, vector.bv_offset + done);
	event->length = BPF_CORE_READ(whole, bi_iter.bi_size);
	if (n <= i + 1)
		return;
	vector_at(&vector, vectors, n - 1);
	if (place_in_file(vector.bv_page, vector.bv_offset) + vector.bv_len != event->offset + event->length)
		event->flags |= ABI_FILE_SCATTERED;
}

struct bio_walk {
	struct bio *bio;
	s64 status;
	u64 left; /* bytes of the request that have ended, from this bio on */
};

/* One bio; 1 ends the loop. */
ALWAYS long next_bio(u32 i, struct bio_walk *walk)
{
	struct bio *bio = walk->bio; /* BPF_CORE_READ() takes a struct of ours for the kernel's */
	struct inode *inode = bio ? file_of_bio(bio) : NULL;
	struct abi_tagged_file *tagged = inode ? file_known(inode) : NULL;
	struct bio___whole *whole = (void *)bio;
	struct abi_file_event event = {};
	u64 size = bio ? BPF_CORE_READ(whole, bi_iter.bi_size) : 0;

	if (!bio || !walk->left)
		return 1;
	size = size < walk->left ? size : walk->left;
	walk->left -= size;
	if (tagged) {
		file_event_begin(&event, ABI_FILE_DONE, inode);
		range_of_bio(&event, bio);
		event.length = size;
		event.result = walk->status;
		file_event_send(tagged, &event, sizeof(event));
	}
	walk->bio = BPF_CORE_READ(bio, bi_next);
	return 0;
}

LOOP_OF(next_bio, struct bio_walk)

#define BIOS_OF_REQUEST 256

/* What the first bio of a request is of, all are: mostly the answer is that it is of no tagged file. Of a request that ends in parts the
 * first so many bytes have ended, and are no longer in it the next time. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_file_request, struct request *rq, int status, unsigned int bytes)
{
	struct bio_walk walk = { .bio = BPF_CORE_READ(rq, bio), .status = status, .left = bytes };
	struct inode *inode;

	if (!bytes || !request_writes(rq) || !walk.bio) /* a flush sequence ends again, with 0 bytes */
		return 0;
	inode = file_of_bio(walk.bio);
	if (!inode || !file_may_be_known((u64)inode))
		return 0;
	next_bio_loop(BIOS_OF_REQUEST, &walk);
	return 0;
}

/* A direct write has ended, for whom nothing else tells which part of the file a request has. */
SEC("fentry/iomap_dio_complete")
int BPF_PROG(on_file_direct, struct iomap_dio *dio)
{
	struct inode *inode = BPF_CORE_READ(dio, iocb, ki_filp, f_inode);
	struct abi_tagged_file *tagged = file_known(inode);
	struct abi_file_event event = {};

	if (!tagged || !(BPF_CORE_READ(dio, flags) & IOMAP_DIO_WRITE))
		return 0;
	file_event_begin(&event, ABI_FILE_DONE, inode);
	event.offset = BPF_CORE_READ(dio, iocb, ki_pos);
	event.length = BPF_CORE_READ(dio, size);
	event.result = BPF_CORE_READ(dio, error);
	event.flags = ABI_FILE_DIRECT;
	file_event_send(tagged, &event, sizeof(event));
	return 0;
}

/* --- names, and the end ----------------------------------------------------------------------------------- */

/* Of files that nobody knows nothing is told; of folders always, as there may be some that are known in them. */
ALWAYS void file_renames(struct dentry *dentry, u32 user, u32 kind, s64 result)
{
	struct inode *inode = BPF_CORE_READ(dentry, d_inode);
	struct abi_tagged_file *tagged = inode ? file_known(inode) : NULL;
	struct abi_file_named *named;

	if (!inode || (!tagged && inode_kind(inode) != S_IFDIR))
		return;
	named = names_begin(user, kind, inode);
	if (!named)
		return;
	named->event.flags = flags_of(inode);
	named->event.result = result;
	named->event.parent = BPF_CORE_READ(dentry, d_parent, d_inode, i_ino);
	names_send(named, tagged, dentry);
}

/* The two may have each other's name from then on: then that is told of both. */
ALWAYS void both_rename(struct renamedata *data, u32 user, u32 kind, s64 result)
{
	file_renames(BPF_CORE_READ(data, old_dentry), user, kind, result);
	if (BPF_CORE_READ(data, flags) & RENAME_EXCHANGE)
		file_renames(BPF_CORE_READ(data, new_dentry), user, kind, result);
}

SEC("fentry/vfs_rename")
int BPF_PROG(on_file_renames, struct renamedata *data)
{
	both_rename(data, NAMES_RENAMES, ABI_FILE_RENAMES, 0);
	return 0;
}

/* What was moved has its new name by now. */
SEC("fexit/vfs_rename")
int BPF_PROG(on_file_renamed, struct renamedata *data, int result)
{
	both_rename(data, NAMES_RENAMED, ABI_FILE_RENAMED, result);
	return 0;
}

/* Nobody has the file open any more by this opening of it. */
SEC("fentry/locks_remove_file")
int BPF_PROG(on_file_closed, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct abi_tagged_file *tagged = file_known(inode);
	struct file___flags *modes = (void *)file;
	struct abi_file_event event = {};

	if (!tagged || !(BPF_CORE_READ(modes, f_mode) & FMODE_WRITE))
		return 0;
	file_event_begin(&event, ABI_FILE_CLOSED, inode);
	event.flags = flags_of(inode);
	file_event_send(tagged, &event, sizeof(event));
	return 0;
}

/* --- the xattr -------------------------------------------------------------------------------------------- */

ALWAYS bool is_tag_xattr(const char *name)
{
	u64 words[XATTR_WORDS] = {}, differ = 0;
	u32 i;

	if (!tag_xattr[0] || bpf_probe_read_kernel_str(words, sizeof(words), name) <= 0)
		return false;
	for (i = 0; i < XATTR_WORDS; i++)
		differ |= words[i] ^ tag_xattr[i];
	return !differ;
}

SEC("fexit/__vfs_setxattr_noperm")
int BPF_PROG(on_xattr_set, void *idmap, struct dentry *dentry, const char *name, const void *value, u64 size,
             int flags, int result)
{
	struct inode *inode = BPF_CORE_READ(dentry, d_inode);
	struct abi_tagged_file fresh = { .folder = ABI_XATTR_FOLDER };
	u64 key = as_number(inode);
	struct abi_file_named *named;

	if (result || !inode || !is_tag_xattr((const char *)pointer_argument(ctx, 2)) ||
	    inode_kind(inode) != S_IFREG || file_known(inode))
		return 0;
	fresh.number = BPF_CORE_READ(inode, i_ino);
	fresh.generation = BPF_CORE_READ(inode, i_generation);
	file_bit_set(key);
	if (bpf_map_update_elem(&tagged_files, &key, &fresh, BPF_ANY))
		COUNT(file_events_lost);
	named = names_begin(NAMES_XATTR, ABI_FILE_OPENED, inode);
	if (!named)
		return 0;
	named->event.flags = flags_of(inode);
	names_send(named, file_known(inode), dentry);
	return 0;
}

SEC("fexit/__vfs_removexattr_locked")
int BPF_PROG(on_xattr_removed, void *idmap, struct dentry *dentry, const char *name, void *delegated,
             int result)
{
	struct inode *inode = BPF_CORE_READ(dentry, d_inode);
	struct abi_tagged_file *tagged = file_known(inode);
	u64 key = as_number(inode);

	if (!result && tagged && tagged->folder == ABI_XATTR_FOLDER &&
	    is_tag_xattr((const char *)pointer_argument(ctx, 2)))
		bpf_map_delete_elem(&tagged_files, &key);
	return 0;
}
