/* What the BPF programs and user space share of stacks that are not sent again (known.bpf.h). */
#ifndef STALLPROF_ABI_KNOWN_H
#define STALLPROF_ABI_KNOWN_H

#include "bpf/abi.h"

static inline __attribute__((always_inline)) __u64 abi_hash_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/* A stack with Python frames that user space has resolved in a window, by struct abi_event's stack_key: a stack with that key and the same
 * return addresses in these places is the same one. */
#define ABI_KNOWN_SLOTS 256
struct abi_known_stack {
	__u64 window;
	__u64 hash; /* of the return addresses, by abi_hash_mix() from 0 on */
	__u32 n;    /* of `slot`; the outermost may be left out, as Python's frames tell them */
	__u32 unused;
	__u16 slot[ABI_KNOWN_SLOTS]; /* where they lie, in words from regs.sp on; the innermost first */
};

_Static_assert(sizeof(struct abi_known_stack) == 24 + 2 * ABI_KNOWN_SLOTS, "known stack");

/* The event's stack_id. */
static inline __attribute__((always_inline)) __u64 abi_stack_id(__u64 stack_key, __u64 hash)
{
	return abi_hash_mix(stack_key, hash);
}

#endif
