/*
 * Walking a copied stack, of any processor that rules are known for.
 *
 * One frame to the next: find the rules for the pc (pc - 1 behind a call, so that a call that never returns, at
 * the very end of its function, still finds that function's), and step. Code without rules is walked by its frame
 * pointer.
 */
#ifndef SYMBOLIZER_UNWIND_WALK_H
#define SYMBOLIZER_UNWIND_WALK_H

#include "symbolizer/unwind_step.h"

/* The code that the stack's addresses are of. */
struct unwind_code {
	const struct cfi_arch *arch;
	/*
	 * The rules for a run-time address, good until the next call. -ESRCH: it is no code; -ENOENT: code
	 * without rules; -EBADMSG: there are some, but broken.
	 */
	int (*find)(void *context, uint64_t address, const struct cfi_rules **out);
	void *context;
	uint64_t n_by_frame_pointer; /* out: steps made so */
};

/*
 * From `frame` outwards; max_pcs is at least 1. Of `stack`, `regs` are not looked at. Returns the number of pcs,
 * the first of which is the frame's own.
 */
size_t unwind_walk(struct unwind_code *code, const struct sym_stack *stack, struct unwind_frame *frame,
                   uint64_t *pcs, size_t max_pcs, enum sym_unwind_end *end);

#endif
