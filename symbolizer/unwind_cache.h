/*
 * The rules for addresses that were on stacks before: with it, a frame that was seen before needs no look at
 * mappings, files and rows. One for all processes, of fixed size; of two addresses for one slot the later stays.
 */
#ifndef SYMBOLIZER_UNWIND_CACHE_H
#define SYMBOLIZER_UNWIND_CACHE_H

#include "symbolizer/object.h"

#define UNWIND_CACHE_SLOTS 4096

struct unwind_slot {
	uint64_t address; /* at run time */
	uint64_t version; /* the process's, which no other process ever has; 0: nothing here */
	const struct cfi_rules *rules;
	struct object *object; /* whose the rules are */
};

struct unwind_cache {
	uint64_t generation; /* of the cache of objects: slots of another one point to what has been freed */
	struct unwind_slot slots[UNWIND_CACHE_SLOTS];
};

static inline struct unwind_slot *unwind_cache_slot(struct unwind_cache *c, uint64_t address,
                                                    uint64_t version)
{
	uint64_t h = (address ^ version << 48) * 0x9e3779b97f4a7c15u;

	return &c->slots[h >> 52];
}

_Static_assert(UNWIND_CACHE_SLOTS == 1 << 12, "the upper 12 bits of the hash are the slot");

#endif
