/* Reading thread contexts (OTEP 4947): the record that a thread's TLS pointer names.
 *
 * The record is packed, in host byte order: trace id (16 bytes), span id (8), valid (1), flags (1), size of
 * the attributes (2), attributes: key index (1), length (1), value. It is the process's own memory and may
 * hold anything: every read is bounded, and what makes no sense is counted and gives no tag.
 */
#ifndef STALLPROF_CONTEXT_BPF_H
#define STALLPROF_CONTEXT_BPF_H

#include "bpf/ai_tag.bpf.h"
#include "bpf/thread.bpf.h"

/* The key of a tag: equal names, ids and traces are one tag, on whatever thread. Never 0. */
VERIFIED_ONCE u64 tag_hash(const struct abi_tag *tag)
{
	const u64 *word = (const u64 *)tag;
	u64 hash, odd = 0, name = 0;
	int i;

	if (!tag)
		return 1;
	hash = tag->source;
	/* Three at a time, as each multiplication waits for the one before. */
#pragma unroll
	for (i = 0; i < ABI_TAG_NAME_LEN / 8; i += 2) {
		odd = hash_mix(odd, word[i]);
		name = hash_mix(name, word[i + 1]);
	}
#pragma unroll
	for (; i < (ABI_TAG_NAME_LEN + 24) / 8; i++)
		hash = hash_mix(hash, word[i]);
	hash = hash_mix(hash_mix(hash, odd), name);
	return hash ? hash : 1;
}

ALWAYS u64 tag_intern(const struct abi_tag *tag)
{
	u64 hash = tag_hash(tag);

	if (!bpf_map_lookup_elem(&tags, &hash) && bpf_map_update_elem(&tags, &hash, tag, BPF_ANY) &&
	    bpf_map_update_elem(&tags_at_once, &hash, tag, BPF_ANY))
		COUNT(tags_full);
	tag_id_learn(tag->id, hash);
	return hash;
}

struct attribute_search {
	struct context_scratch *scratch;
	u32 key;
};

/* One attribute; 1 ends the loop. */
ALWAYS long next_attribute(u32 i, struct attribute_search *a)
{
	struct context_scratch *s = a->scratch;
	u32 at = s->search.at, size = s->search.size, len;

	if (at + 2 > size)
		return 1;
	at = cut_to(at, CONTEXT_ATTRS_MAX - 2);
	len = s->attrs[at + 1];
	if (at + 2 + len > size)
		return 1;
	if (s->attrs[at] == a->key) {
		s->search.found = at + 2;
		s->search.len = len;
	}
	s->search.at = at + 2 + len;
	return 0;
}

LOOP_OF(next_attribute, struct attribute_search)

/* Copies the last attribute with the key into the tag's name; false when there is none. */
ALWAYS bool context_name(struct context_scratch *s, u32 key)
{
	struct attribute_search a = { .scratch = s, .key = key };
	u32 found, len;

	s->search.at = 0;
	s->search.size = cut_to(s->head.attrs_size, CONTEXT_ATTRS_MAX);
	s->search.found = 0;
	s->search.len = 0;
	next_attribute_loop(CONTEXT_ATTRS, &a);
	if (!s->search.found)
		return false;
	found = cut_to(s->search.found, CONTEXT_ATTRS_MAX);
	len = cut_to(s->search.len, NAME_MAX_LEN);
	bpf_probe_read_kernel(s->tag.name, len, &s->attrs[found]);
	return len > 0;
}

ALWAYS u64 be64_at(const u8 *bytes)
{
	u64 value;

	__builtin_memcpy(&value, bytes, sizeof(value));
	return __builtin_bswap64(value);
}

#define TLS_UNREADABLE (~0ULL)

enum context_result { CONTEXT_NO_TAG = 0, CONTEXT_TAG = 1, CONTEXT_KEEP = 2 };

/* What cannot be read stands: programs on a switch cannot wait for a page, and the kernel holds pages back that a thread has
 * not touched for a while, to see on which node it does (NUMA balancing), or has written them to swap. A thread
 * that changes its tag touches the page. */
ALWAYS int context_unreadable(struct thread *t)
{
	if (!t->context_unread && t->context_known)
		COUNT(contexts_kept);
	else if (!t->context_unread)
		COUNT(contexts_unreadable);
	t->context_unread = 1;
	return CONTEXT_KEEP;
}

/* What is no record at all, or none of a version that is known. */
ALWAYS int context_senseless(struct thread *t)
{
	if (!t->context_unread)
		COUNT(contexts_unreadable);
	t->context_unread = 1;
	return CONTEXT_NO_TAG;
}

/* Reads the thread's record at `address` into a tag.
 * CONTEXT_KEEP: it cannot be read, or the writer is in the middle of a change, so the tag from before stands. */
ALWAYS int context_read(struct task_struct *task, struct thread *t, struct context_scratch *s, u64 address,
                        u32 ai_tag_key, u32 source, u64 *tag)
{
	u32 size;

	if (!address || !s)
		return CONTEXT_NO_TAG;
	if (address == TLS_UNREADABLE || user_read(&s->head, sizeof(s->head), (void *)address))
		return context_unreadable(t);
	if (s->head.valid > 1)
		return context_senseless(t);
	if (s->head.valid == 0)
		return CONTEXT_KEEP;
	size = cut_to(s->head.attrs_size, CONTEXT_ATTRS_MAX);
	__builtin_memset(&s->tag, 0, sizeof(s->tag));
	if (size && user_read(s->attrs, size, (void *)(address + sizeof(s->head))))
		return context_unreadable(t);
	t->context_unread = 0;
	s->tag.id = be64_at(s->head.span_id);
	s->tag.source = source;
	__builtin_memcpy(s->tag.trace_id, s->head.trace_id, 16);
	if (!context_name(s, ai_tag_key)) {
		if (!s->tag.id)
			return CONTEXT_NO_TAG;
		__builtin_memcpy(s->tag.name, "span", 4);
	}
	*tag = tag_intern(&s->tag);
	return CONTEXT_TAG;
}

/* The value of the current thread's TLS pointer, 0 when it has none (yet), or TLS_UNREADABLE. The thread pointer's second word is the dtv.
 * How many modules it has, which may be too few for this one, is told by glibc two words before it (entry -1), by musl in its
 * first word; glibc's entries have two words, musl's one (musl, __copy_tls() in src/env/__init_tls.c). */
ALWAYS u64 tls_pointer(struct task_struct *task, const struct abi_tls *tls)
{
	u64 base = BPF_CORE_READ(task, thread.fsbase), dtv = 0, value = 0;

	if (!base)
		return 0; /* its C library has not begun */
	if (tls->kind == ABI_TLS_DYNAMIC || tls->kind == ABI_TLS_MUSL) {
		bool musl = tls->kind == ABI_TLS_MUSL;

		if (user_read(&dtv, sizeof(dtv), (void *)(base + 8)) ||
		    user_read(&value, sizeof(value), (void *)(musl ? dtv : dtv - 16)))
			return TLS_UNREADABLE;
		if (value < tls->module)
			return 0;
		if (user_read(&base, sizeof(base), (void *)(dtv + (u64)tls->module * (musl ? 8 : 16))))
			return TLS_UNREADABLE;
		if (!base || base == ~0ULL)
			return 0; /* not allocated for this thread */
	} else if (tls->kind != ABI_TLS_STATIC) {
		return 0;
	}
	value = 0;
	if (user_read(&value, sizeof(value), (void *)(base + tls->offset)))
		return TLS_UNREADABLE;
	return value;
}

/* What a thread's context says. */
struct context_found {
	u64 tag;          /* 0: none */
	bool is_stalltag; /* else a foreign context */
};

/* Looks for the thread's context in its slots: stalltag's first, which carries the tag's name. Where the probe tells of each
 * change, stalltag's is read only once, for what was pushed before the probe was there. False: what is known stands. */
ALWAYS bool context_find(struct task_struct *task, struct thread *t, struct context_scratch *s,
                         struct context_found *found)
{
	struct abi_process *process = process_followed(t->tgid, t->process_start_ns);
	int result = CONTEXT_NO_TAG;
	u64 address;

	*found = (struct context_found){};
	if (!process || !s)
		return false;
	if (t->stalltag_held && !process->stalltag.kind && !process->otel.kind)
		return false; /* it was told, and where to read it is not known just now, as after an exec */
	if (process->exact_stalltag && t->context_known && (t->stalltag_held || !process->otel.kind) &&
	    (process->exact_stalltag == ABI_EXACT_PROBE || t->log_at))
		return false;
	address = tls_pointer(task, &process->stalltag);
	if (address)
		result = context_read(task, t, s, address, 0, ABI_TAG_STALLTAG, &found->tag);
	found->is_stalltag = result == CONTEXT_TAG;
	if (result == CONTEXT_NO_TAG) {
		address = tls_pointer(task, &process->otel);
		if (address)
			result = context_read(task, t, s, address, process->ai_tag_key, ABI_TAG_OTEL,
			                      &found->tag);
	}
	return result != CONTEXT_KEEP;
}

ALWAYS void context_take(struct task_struct *task, struct thread *t, const struct context_found *found)
{
	t->stalltag_held = found->is_stalltag;
	t->thread_tag = found->tag;
	thread_retag(task, t);
	t->context_known = 1;
}

/* The current thread's. */
ALWAYS void thread_read_context(struct task_struct *task, struct thread *t)
{
	struct context_found found;

	if (!t->reading && context_find(task, t, scratch_of(task), &found))
		context_take(task, t, &found);
}

#endif
