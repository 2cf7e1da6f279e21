/*
 * Where the FDE for an address is: the functions of .eh_frame and .debug_frame by address, 8 bytes each. Read
 * from .eh_frame_hdr, the linker's own sorted table, where there is one and no .debug_frame beside it; else both
 * sections are read once from end to end.
 */
#ifndef SYMBOLIZER_CFI_INDEX_H
#define SYMBOLIZER_CFI_INDEX_H

#include "symbolizer/cfi/cfi_entry.h"
#include "symbolizer/elf/elf_file.h"

struct cfi_place {
	uint32_t start; /* of the code, from the index's base */
	uint32_t fde;   /* offset in its section; with CFI_IN_DEBUG_FRAME set, in the second */
};

#define CFI_IN_DEBUG_FRAME 0x80000000u

struct cfi_index {
	uint64_t base;
	struct cfi_place *places; /* by start, all different: .eh_frame goes first */
	size_t n, max;
};

/*
 * Fills a zeroed index, which the caller gives to cfi_index_free() in any case. `sections` has two elements,
 * .eh_frame and .debug_frame; the file lacks one that has no data. Malformed entries, and those for code outside the
 * executable segments of `f`, are skipped. -ENOENT: no entries at all; -ENOMEM.
 */
int cfi_index_fill(struct cfi_index *index, struct cfi_section *sections, struct elf_file *f);
void cfi_index_free(struct cfi_index *index);

/*
 * Returns how many places start at or below the address; the last of them is its own. 0 also for addresses 4 GiB or
 * more above the base.
 */
size_t cfi_index_up_to(const struct cfi_index *index, uint64_t address);

#endif
