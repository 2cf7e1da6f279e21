/*
 * Where the FDE for an address is: the functions of .eh_frame and .debug_frame by address, 8 bytes each. Taken
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
	struct cfi_place *places; /* by start, no two equal: of two the one in .eh_frame is in it */
	size_t n, max;
};

/*
 * Fills a zeroed index, which the caller gives to cfi_index_free() in any case. `sections` are two, the .eh_frame
 * and the .debug_frame; one without data is not there. Entries that make no sense, or for code that is not in an
 * executable segment of `f`, are passed over. -ENOENT: none at all; -ENOMEM.
 */
int cfi_index_fill(struct cfi_index *index, struct cfi_section *sections, struct elf_file *f);
void cfi_index_free(struct cfi_index *index);

/* Number of places that start at or below the address: its own is the last of them. 0 too for one 4 GiB up. */
size_t cfi_index_up_to(const struct cfi_index *index, uint64_t address);

#endif
