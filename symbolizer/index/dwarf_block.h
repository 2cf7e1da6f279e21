/* From DWARF to a block: all answers for the addresses around one that are in the same function. */
#ifndef SYMBOLIZER_DWARF_BLOCK_H
#define SYMBOLIZER_DWARF_BLOCK_H

#include "symbolizer/dwarf/dwarf_index.h"
#include "symbolizer/index/index_block.h"

struct dwarf_block_wanted {
	uint64_t address;
	struct dwarf_interval room; /* the block must not reach beyond it */
	uint64_t shift;             /* is added to each address in the block */
	/* The name of a function that has none in DWARF, or no linkage name, by the symbol table. May return NULL. */
	const char *(*symbol_at)(uint64_t address, void *context);
	void *context;
};

/*
 * Makes a block with `address` in it: of its function, or of a part of it where that is large; of code without
 * a function that has a name, of the address alone. The caller frees it. -ENOENT: DWARF does not know the
 * address; -ENOMEM, -EFBIG.
 */
int dwarf_block_make(struct dwarf_index *x, const struct dwarf_block_wanted *wanted,
                     struct index_block **out);

#endif
