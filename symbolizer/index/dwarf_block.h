/* Makes a block from DWARF: the answers for all addresses in the function of one address. */
#ifndef SYMBOLIZER_DWARF_BLOCK_H
#define SYMBOLIZER_DWARF_BLOCK_H

#include "symbolizer/dwarf/dwarf_index.h"
#include "symbolizer/index/index_block.h"

struct dwarf_block_wanted {
	uint64_t address;
	struct dwarf_interval room; /* the block must not reach beyond it */
	uint64_t shift;             /* is added to each address in the block */
	/* The symbol table's name for a function that has no name in DWARF, or no linkage name. May return NULL. */
	const char *(*symbol_at)(uint64_t address, void *context);
	void *context;
};

/*
 * Makes a block with `address` in it: for its function, or for a part of a large one; for the address alone, where no
 * function with a name has it. The caller frees it. -ENOENT: DWARF does not know the address; -ENOMEM, -EFBIG.
 */
int dwarf_block_make(struct dwarf_index *x, const struct dwarf_block_wanted *wanted,
                     struct index_block **out);

#endif
