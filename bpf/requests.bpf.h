/* Whose requests a device serves: the tag of the thread that issues a request, or, as a buffered write is issued long after it was made,
 * of the thread that made its pages dirty. Rows of the state ABI_REQUESTS. */
#ifndef STALLPROF_REQUESTS_BPF_H
#define STALLPROF_REQUESTS_BPF_H

#include "bpf/follow.bpf.h"
#include "bpf/log_take.bpf.h"

/* The tag under which its pages were last made dirty. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct dirty_file);
	__type(value, u64);
} dirty_files SEC(".maps") __weak;

struct owner {
	u64 request; /* its address */
	u64 tag;
	u64 writeback;
};

#define BIOS_LOOKED_AT 4

/* By a hash of the request's address. A device has few requests, which it uses over and over; of two with the same hash the later is
 * told. */
#define OWNER_BITS 14
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << OWNER_BITS);
	__type(key, u32);
	__type(value, struct owner);
} owners SEC(".maps") __weak;

ALWAYS struct owner *owner_at(const struct request *rq)
{
	u32 i = hash_mix(0, as_number(rq)) >> (64 - OWNER_BITS);

	return bpf_map_lookup_elem(&owners, &i);
}

ALWAYS u32 request_op(struct request *rq)
{
	return rq->cmd_flags & REQ_OP_MASK;
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
	u64 info;

	if (HAS_FIELD(newer, compound_info)) {
		info = BPF_CORE_READ(newer, compound_info);
		return info & 1 ? (struct page *)(as_number(page) & info) : page;
	}
	info = BPF_CORE_READ(page, compound_head);
	return info & 1 ? (struct page *)(info - 1) : page;
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
	file.inode = (u64)inode;
	file.number = BPF_CORE_READ(inode, i_ino);
	tag = bpf_map_lookup_elem(&dirty_files, &file);
	return tag ? *tag : 0;
}

/* A request starts, of the thread `t`; NULL: of one that serves others, or that holds no tag. */
ALWAYS void request_owned(struct request *rq, struct task_struct *task, struct thread *t)
{
	u64 own = t ? tag_in_call(task, t) : 0;
	u64 dirty = request_op(rq) == REQ_OP_WRITE ? tag_of_dirty(rq->bio) : 0;
	struct owner *owner = owner_at(rq);

	if (!owner)
		return;
	owner->request = (u64)rq;
	owner->tag = dirty ? dirty : own ? own : ABI_NOBODYS_TAG;
	owner->writeback = dirty && dirty != own;
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

/* Whose the request is that ends; NULL: nobody's. One that nobody was known for at its start has taken others in since: file systems
 * pad what is written directly with zeroes, which come first. */
ALWAYS struct owner *owner_of(struct request *rq)
{
	struct owner *owner = owner_at(rq);
	u64 dirty;

	if (!owner || owner->request != (u64)rq)
		return NULL;
	if (owner->tag != ABI_NOBODYS_TAG || request_op(rq) != REQ_OP_WRITE)
		return owner;
	dirty = tag_of_dirtied(rq);
	if (dirty) {
		owner->tag = dirty;
		owner->writeback = 1;
	}
	return owner;
}

/* A write without data is a flush. */
ALWAYS u32 request_kind(struct request *rq, const struct owner *owner, u32 bytes)
{
	switch (request_op(rq)) {
	case REQ_OP_READ:
		return ABI_REQUESTS_READ;
	case REQ_OP_WRITE:
		if (!bytes)
			return ABI_REQUESTS_FLUSH;
		return ABI_REQUESTS_WRITE | (owner && owner->writeback ? ABI_REQUESTS_WRITEBACK : 0);
	case REQ_OP_FLUSH:
		return ABI_REQUESTS_FLUSH;
	case REQ_OP_DISCARD:
		return ABI_REQUESTS_DISCARD;
	}
	return ABI_REQUESTS_OTHER;
}

/* `bytes` of the request are done; `whole`: nothing is left of it. */
ALWAYS void request_counts(struct request *rq, u32 dev, u32 bytes, bool whole, u64 now)
{
	struct owner *owner = owner_of(rq);
	struct abi_ledger_key key = { .state = ABI_REQUESTS, .dev = dev };
	u64 start = rq->start_time_ns;

	key.tag = owner ? owner->tag : ABI_NOBODYS_TAG;
	key.cause = request_kind(rq, owner, bytes);
	ledger_add(&key, whole && start ? since(now, start) : 0, whole, bytes);
}

#endif
