/* The tag that a patched kernel keeps in a request or in a bio, as a 64-bit id (0: none): the tag with that id that was met last, else one
 * of its own, named "request". It says whose the request is before anything else does. Other kernels have no such fields; then nothing of
 * this is left in the programs. */
#ifndef STALLPROF_AI_TAG_BPF_H
#define STALLPROF_AI_TAG_BPF_H

#include "bpf/state.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct request___patched {
	u64 ai_tag;
};

struct bio___patched {
	u64 bi_ai_tag;
};

#pragma clang attribute pop

/* The key of the tag with that id that was met last. User space makes room in a kernel that has the fields. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u64);
} tag_ids SEC(".maps") __weak;

ALWAYS bool kernel_keeps_tags(void)
{
	return bpf_core_field_exists(struct request___patched, ai_tag) ||
	       bpf_core_field_exists(struct bio___patched, bi_ai_tag);
}

/* A tag was met. */
ALWAYS void tag_id_learn(u64 id, u64 tag)
{
	u64 *known;

	if (!kernel_keeps_tags() || !id)
		return;
	known = bpf_map_lookup_elem(&tag_ids, &id);
	if (known)
		*known = tag;
	else
		bpf_map_update_elem(&tag_ids, &id, &tag, BPF_ANY);
}

#endif
