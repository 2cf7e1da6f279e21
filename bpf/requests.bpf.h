/* Whose requests a device serves: the tag that the kernel keeps in the request (bpf/ai_tag.bpf.h), or that of the thread that issues it, or, as
 * a buffered write is issued long after it was made, the tag under which its file was made dirty last. Rows of the state ABI_REQUESTS. */
#ifndef STALLPROF_REQUESTS_BPF_H
#define STALLPROF_REQUESTS_BPF_H

#include "bpf/ai_tag.bpf.h"
#include "bpf/follow.bpf.h"
#include "bpf/log_take.bpf.h"

/* A file whose pages were made dirty under a tag. */
struct dirty_file {
	u64 inode; /* its address */
	u64 number;
	u64 generation; /* of the number */
};

/* The tag under which that was, last. Of more files than that those are forgotten that were made dirty first. */
#define DIRTY_FILES 16384
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, DIRTY_FILES);
	__type(key, struct dirty_file);
	__type(value, u64);
} dirty_files SEC(".maps") __weak;

volatile __weak __u32 n_dirty_files = 0; /* noted, and not taken back; a forgotten one is among them */

/* A use of a request. */
struct owner {
	u64 request; /* its address */
	u64 tag;
	u64 start_ns; /* of what is not told yet */
	u32 hot_generation;
	u32 tgid; /* of who issues it */
	u32 dev;  /* request_dev() */
	u8 kind;  /* enum abi_requests */
	u8 has_data;
	u8 ended;
};

/* By the request's address; of two at the same place the later keeps its tag, and the other is nobody's (requests_unseen). The kernel
 * takes a queue's requests, which lie beside each other, by turns. So do their places here: each on a page of its own would cost a walk
 * through the page tables. Only where the first of each 8 KiB has its place is by a hash. User space has room for 2^owner_bits. */
#define OWNER_SIZE  256 /* of a request, at least */
#define OWNER_CHUNK 8192
const volatile __weak __u32 owner_bits = 0;
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct owner);
} owners SEC(".maps") __weak;

#define BIOS_LOOKED_AT 4

/* Whether requests are told: all that it takes is attached. User space sets it. */
const volatile __weak bool tells_requests = false;

ALWAYS struct owner *owner_at(const struct request *rq)
{
	u32 at = low_half(rq), in_chunk = at % OWNER_CHUNK / OWNER_SIZE;
	u32 i = ((u32)(hash_mix(0, at / OWNER_CHUNK) >> 40) + in_chunk) & ((1U << owner_bits) - 1);

	return bpf_map_lookup_elem(&owners, &i);
}

/* NULL: requests are not told, or it is the flush that the kernel makes for others, which is a part of the request that asks for it. To be
 * asked for first: it often lies in the other CPU's cache. */
ALWAYS struct owner *owner_told(struct request *rq)
{
	bool is_made = rq->end_io && (rq->cmd_flags & REQ_OP_MASK) == REQ_OP_FLUSH;
	struct owner *owner = tells_requests && !is_made ? owner_at(rq) : NULL;

	if (owner)
		fetch_early(owner);
	return owner;
}

/* Whether it is of the request's present use, as far as is known. */
ALWAYS bool owner_is_of(const struct owner *owner, const struct request *rq)
{
	return owner->request == (u64)rq && owner->hot_generation == hot_generation;
}

/* Its device, from where that is at hand. */
ALWAYS u32 owned_dev(const struct owner *owner, struct request *rq)
{
	return owner && owner_is_of(owner, rq) && !owner->ended ? owner->dev : request_dev(rq);
}

ALWAYS bool request_writes(struct request *rq)
{
	u32 op = rq->cmd_flags & REQ_OP_MASK;

	return op == REQ_OP_WRITE || (bpf_core_enum_value_exists(enum req_op, REQ_OP_ZONE_APPEND) &&
	                              op == bpf_core_enum_value(enum req_op, REQ_OP_ZONE_APPEND));
}

/* The tag of a thread that is in a system call. */
ALWAYS u64 tag_in_call(struct task_struct *task, struct thread *t)
{
	if (RARELY(t->has_log))
		log_take_last(task, t);
	return thread_sums(t)->tag;
}

ALWAYS struct page *first_of_folio(struct page *page)
{
	struct page___since_7_1 *newer = (void *)page;
	u64 info = HAS_FIELD(newer, compound_info) ? BPF_CORE_READ(newer, compound_info)
	                                           : BPF_CORE_READ(page, compound_head);

	if (!(info & 1))
		return page;
	if (HAS_FIELD(newer, compound_info) && info >> COMPOUND_MASK_SHIFT == COMPOUND_MASK_TOP)
		return (struct page *)(as_number(page) & info);
	return (struct page *)(info - 1);
}

ALWAYS void dirty_file_of(struct dirty_file *file, struct inode *inode)
{
	file->inode = (u64)inode;
	file->number = BPF_CORE_READ(inode, i_ino);
	file->generation = BPF_CORE_READ(inode, i_generation);
}

/* The file whose page the bio begins with; NULL: none, as with direct I/O. */
ALWAYS struct inode *file_of_bio(struct bio *bio)
{
	u32 i = BPF_CORE_READ(bio, bi_iter.bi_idx);
	struct bio_vec *vec = BPF_CORE_READ(bio, bi_io_vec);
	struct address_space *mapping;
	struct page *page;

	if (!vec)
		return NULL;
	vec = (void *)vec + (u64)i * bpf_core_type_size(struct bio_vec);
	page = BPF_CORE_READ(vec, bv_page);
	if (!page)
		return NULL;
	mapping = BPF_CORE_READ(first_of_folio(page), mapping);
	return mapping && !((u64)mapping & MAPPING_FLAGS) ? BPF_CORE_READ(mapping, host) : NULL;
}

/* The tag under which what the bio writes was made dirty; 0: none that is known. */
ALWAYS u64 tag_of_dirty(struct bio *bio)
{
	struct inode *inode = bio ? file_of_bio(bio) : NULL;
	struct dirty_file file = {};
	u64 *tag;

	if (!inode)
		return 0;
	dirty_file_of(&file, inode);
	tag = bpf_map_lookup_elem(&dirty_files, &file);
	return tag ? *tag : 0;
}

/* --- what a patched kernel says ------------------------------------------------------------------------------------------- */

static const struct abi_tag tag_of_request = { .name = "request", .source = ABI_TAG_REQUEST };

ALWAYS bool tag_is_known(u64 tag)
{
	return bpf_map_lookup_elem(&tags, &tag) || bpf_map_lookup_elem(&tags_at_once, &tag);
}

/* The tag with that id; where none was met, or it is forgotten, one that is made for it. A function of its own, as requests begin and end in
 * several programs. */
__weak __noinline u64 tag_of_id(u64 id)
{
	u64 *known = bpf_map_lookup_elem(&tag_ids, &id);
	u64 tag = known ? *known : 0;
	struct abi_tag *made;

	if (tag && tag_is_known(tag))
		return tag;
	tag = hash_mix(hash_mix(ABI_TAG_REQUEST, id), 1);
	if (tag_is_known(tag))
		return tag;
	if (bpf_map_update_elem(&tags, &tag, &tag_of_request, BPF_ANY))
		COUNT(tags_full);
	made = bpf_map_lookup_elem(&tags, &tag);
	if (made)
		made->id = id;
	return tag;
}

/* 0: none. */
ALWAYS u64 id_of_bio(struct bio *bio)
{
	struct bio___patched *patched = (void *)bio;

	return bio && HAS_FIELD(patched, bi_ai_tag) ? BPF_CORE_READ(patched, bi_ai_tag) : 0;
}

/* What the kernel keeps of whose the request is: in itself, or in one of its first bios. 0: nothing. */
ALWAYS u64 tag_kept(struct request *rq)
{
	struct request___patched *patched = (void *)rq;
	struct bio *bio;
	u64 id;
	u32 i;

	if (!kernel_keeps_tags())
		return 0;
	id = HAS_FIELD(patched, ai_tag) ? BPF_CORE_READ(patched, ai_tag) : 0;
	bio = rq->bio;
	for (i = 0; i < BIOS_LOOKED_AT && bio && !id; i++) {
		id = id_of_bio(bio);
		bio = BPF_CORE_READ(bio, bi_next);
	}
	return id ? tag_of_id(id) : 0;
}

/* --- the uses of requests ------------------------------------------------------------------------------------------------ */

/* A write without data is a flush. */
ALWAYS u32 request_kind(struct request *rq)
{
	u32 op = rq->cmd_flags & REQ_OP_MASK;

	if (op == REQ_OP_READ)
		return ABI_REQUESTS_READ;
	if (request_writes(rq))
		return rq->__data_len ? ABI_REQUESTS_WRITE : ABI_REQUESTS_FLUSH;
	if (op == REQ_OP_FLUSH)
		return ABI_REQUESTS_FLUSH;
	return op == REQ_OP_DISCARD ? ABI_REQUESTS_DISCARD : ABI_REQUESTS_OTHER;
}

/* A use of the request begins at `start_ns`, by a thread that holds the tag `own`, 0: none. */
ALWAYS void owner_begins(struct owner *owner, struct request *rq, struct task_struct *task, u64 own,
                         u64 start_ns)
{
	u64 dirty = request_writes(rq) ? tag_of_dirty(rq->bio) : 0, kept = tag_kept(rq);
	u64 known = kept ? kept : dirty;

	if (owner->request && !owner->ended && owner->hot_generation == hot_generation)
		COUNT(requests_unseen);
	owner->request = (u64)rq;
	owner->tag = known ? known : own ? own : ABI_NOBODYS_TAG;
	owner->tgid = task->tgid;
	owner->dev = request_dev(rq);
	owner->start_ns = start_ns;
	owner->hot_generation = hot_generation;
	owner->kind = request_kind(rq) | (dirty && known != own ? ABI_REQUESTS_WRITEBACK : 0);
	owner->has_data = rq->__data_len != 0;
	owner->ended = 0;
}

/* A request starts, of the thread `t`; NULL: of one that serves others, or that holds no tag. `owner` is owner_told(). */
ALWAYS void request_owned(struct owner *owner, struct request *rq, struct task_struct *task, struct thread *t,
                          u64 *now)
{
	u64 tag;

	if (!owner)
		return;
	tag = t ? tag_in_call(task, t) : 0;
	owner_begins(owner, rq, task, tag, clock_once(now));
}

/* The same in a kernel before 6.5, where it has started already. False: it was told when its thread handed it to the I/O scheduler, and
 * whoever issues it now does so for that thread. */
ALWAYS bool request_queued(struct request *rq, struct task_struct *task, struct thread *t)
{
	struct owner *owner = owner_told(rq);
	u64 start_ns = rq->start_time_ns; /* 0: the queue keeps no statistics */

	if (!owner)
		return true;
	if (owner_is_of(owner, rq) && !owner->ended &&
	    (start_ns ? owner->start_ns == start_ns : serves_others(task)))
		return false;
	owner_begins(owner, rq, task, t ? tag_in_call(task, t) : 0, start_ns ? start_ns : bpf_ktime_get_ns());
	return true;
}

/* … of the first of the request's bios of which that is known. */
ALWAYS u64 tag_of_dirtied(struct request *rq)
{
	struct bio *bio = rq->bio;
	u64 tag = 0;
	u32 i;

	for (i = 0; i < BIOS_LOOKED_AT && bio && !tag; i++) {
		tag = tag_of_dirty(bio);
		bio = BPF_CORE_READ(bio, bi_next);
	}
	return tag;
}

/* The request was merged into another: it does not end. */
ALWAYS void request_merged(struct request *rq)
{
	struct owner *owner = owner_at(rq);

	if (owner && owner_is_of(owner, rq))
		owner->ended = 1;
}

/* Nobody was known at its start, and it has taken others in since: file systems pad what is written directly with zeroes, which come
 * first. */
ALWAYS void owner_found_late(struct owner *owner, struct request *rq)
{
	u64 kept = tag_kept(rq);
	u64 dirty = !kept && owner->kind == ABI_REQUESTS_WRITE ? tag_of_dirtied(rq) : 0;

	if (kept)
		owner->tag = kept;
	if (!dirty)
		return;
	owner->tag = dirty;
	owner->kind |= ABI_REQUESTS_WRITEBACK;
}

/* One that nobody is known for: it began before it could be told, or another came to the same place in between. */
ALWAYS void stray_counts(struct request *rq, struct abi_ledger_key *key, u32 bytes, bool whole)
{
	u64 kept = tag_kept(rq);

	key->tag = kept ? kept : ABI_NOBODYS_TAG;
	key->cause = request_kind(rq);
	ledger_add(key, 0, whole, bytes);
}

/* `bytes` of the request are done; `whole`: nothing is left of it. What has ended comes again, without data, where it was a part of a
 * sequence with flushes, or passed by a multipath target: then only its time grows. One that ends without the data that it had is handed to
 * another path. Where it comes again with data, the begin of that use was not seen. `owner` is owner_told(). */
ALWAYS void request_counts(struct owner *owner, struct request *rq, u32 dev, u32 bytes, bool whole, u64 now)
{
	struct abi_ledger_key key = { .state = ABI_REQUESTS, .dev = dev };
	bool first;

	if (!owner)
		return;
	if (!owner_is_of(owner, rq) || (owner->ended && bytes)) {
		stray_counts(rq, &key, bytes, whole);
		return;
	}
	if (owner->tag == ABI_NOBODYS_TAG)
		owner_found_late(owner, rq);
	first = whole && !owner->ended && (bytes || !owner->has_data);
	key.tag = owner->tag;
	key.tgid = owner->tag == ABI_NOBODYS_TAG ? owner->tgid : 0;
	key.cause = owner->kind;
	if (first || bytes || owner->ended)
		ledger_add(&key, whole ? since(now, owner->start_ns) : 0, first, bytes);
	if (whole) {
		owner->ended = 1;
		owner->start_ns = now;
	}
}

#endif
