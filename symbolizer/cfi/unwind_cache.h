/*
 * The rules for addresses that were on stacks before: with it, a frame that was seen before needs no look at
 * mappings, files and rows. It has a fixed size: an address takes the slot of an earlier one.
 */
#ifndef SYMBOLIZER_UNWIND_CACHE_H
#define SYMBOLIZER_UNWIND_CACHE_H

#include "symbolizer/cfi/cfi_rules.h"

#define UNWIND_CACHE_SLOTS 2048

/* Each slot is one line of the processor's cache, as a walk mostly waits for memory. */
struct unwind_slot {
	_Alignas(64) uint64_t address; /* at run time */
	uint64_t version;              /* of the code there (unwind_walk.h); 0: nothing here */
	const struct cfi_rules *rules;
	void *owner; /* the object that the rules belong to */
	/*
	 * Hot rules say only this: CFA = sp or fp + cfa_n, return address at CFA + return_n, the caller's fp at CFA +
	 * fp_n (0: unchanged). Where the other registers were saved, none further down than CFA - depth, matters only
	 * to a frame that is not hot.
	 */
	bool is_hot, is_by_fp;
	bool is_signal; /* as the rules have it */
	int32_t cfa_n, return_n, fp_n, depth;
};

#define UNWIND_CACHE_RETURNS 512

/* What is known of a word that a frame pointer led to. */
struct unwind_return {
	uint64_t address, version; /* version 0: nothing here */
	bool is_behind_call;
};

struct unwind_cache {
	struct unwind_slot slots[UNWIND_CACHE_SLOTS];
	struct unwind_return returns[UNWIND_CACHE_RETURNS];
};

_Static_assert(sizeof(struct unwind_slot) == 64, "as it says");

static inline struct unwind_slot *unwind_cache_slot(struct unwind_cache *c, uint64_t address,
                                                    uint64_t version)
{
	return &c->slots[(address ^ address >> 11 ^ version) % UNWIND_CACHE_SLOTS];
}

static inline struct unwind_return *unwind_cache_return(struct unwind_cache *c, uint64_t address,
                                                        uint64_t version)
{
	return &c->returns[(address ^ address >> 9 ^ version) % UNWIND_CACHE_RETURNS];
}

/* An empty one: the caller frees it with unwind_cache_free(). NULL: no memory. */
struct unwind_cache *unwind_cache_new(void);

/* NULL is allowed. */
void unwind_cache_free(struct unwind_cache *c);

/* Empties it. */
void unwind_cache_clear(struct unwind_cache *c);

void unwind_cache_fill(struct unwind_slot *slot, const struct cfi_arch *arch, uint64_t address,
                       uint64_t version, const struct cfi_rules *rules, void *owner);

#endif
