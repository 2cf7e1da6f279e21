/*
 * Walks a copied stack, of any processor in cfi_arch.h.
 *
 * One frame to the next: find the rules for the pc (pc - 1 behind a call, so that a call that never returns, at
 * the very end of its function, still finds that function's), and step. Code without rules is walked by its frame
 * pointer, an interrupted function without rules also by the call before what is on top of the stack.
 *
 * Nearly all frames need no registers but pc, stack pointer and frame pointer, so while the cache knows the rules
 * ("hot") only those are followed. The frame in which all registers are known stays behind meanwhile; where a rule
 * wants another one, the steps from there on are made once more, with all of them.
 */
#ifndef SYMBOLIZER_UNWIND_WALK_H
#define SYMBOLIZER_UNWIND_WALK_H

#include "symbolizer/cfi/unwind_cache.h"
#include "symbolizer/cfi/unwind_call.h"
#include "symbolizer/cfi/unwind_step.h"

/* The code that the stack's addresses point to. */
struct unwind_code {
	const struct cfi_arch *arch;
	struct unwind_cache *cache;
	/*
	 * Number of this state of the code: rules are taken from the cache only if they were found under the same
	 * version. Not 0. find() may change it.
	 */
	uint64_t version;
	/*
	 * Finds the rules for a run-time address, valid until the next call, and the object that they belong to.
	 * -ESRCH: it is no code; -ENOENT: code without rules; -EBADMSG: the rules are broken. If it frees
	 * rules, it empties the cache.
	 */
	int (*find)(struct unwind_code *code, uint64_t address, const struct cfi_rules **out, void **owner);
	/*
	 * Called, if not NULL, when rules of another owner than before are taken from the cache. May free others'
	 * rules, as find(), but not this owner's, as these are used next.
	 */
	void (*used)(struct unwind_code *code, void *owner);
	/*
	 * NULL, or reads code at run-time addresses for unwind_call.h; gets `context`. If it frees rules, it empties
	 * the cache.
	 */
	unwind_read_code read_code;
	void *context;
	const void *last_owner;
	uint64_t n_by_frame_pointer; /* out: number of steps made by frame pointer */
};

/*
 * From `frame` outwards; max_pcs is at least 1. Of `stack`, `regs` are not looked at. Returns the number of pcs,
 * the first of which is the frame's own.
 */
size_t unwind_walk(struct unwind_code *code, const struct sym_stack *stack, const struct unwind_frame *frame,
                   uint64_t *pcs, size_t max_pcs, enum sym_unwind_end *end);

#endif
