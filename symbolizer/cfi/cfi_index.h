/*
 * Where the FDE for an address is: the functions of .eh_frame and .debug_frame by address, 8 bytes each. Where there is
 * .eh_frame_hdr, the linker's own sorted table, and no .debug_frame beside it, that is read in blocks, of which a search
 * needs some; else both sections are read once from end to end.
 *
 * A block is checked when it is read: it is sorted, and leads into .eh_frame. A search in a table whose blocks are not
 * sorted may miss an entry, but what it finds is what .eh_frame says of the address, for the caller looks at the FDE's
 * own range. Only when nothing was found need it be asked whether that is because the table is wrong
 * (cfi_index_is_good()): then the sections are to be read instead (cfi_index_scan()).
 */
#ifndef SYMBOLIZER_CFI_INDEX_H
#define SYMBOLIZER_CFI_INDEX_H

#include "symbolizer/base/arena.h"
#include "symbolizer/cfi/cfi_entry.h"
#include "symbolizer/elf/elf_file.h"

struct cfi_place {
	uint32_t start; /* of the code, from the index's base */
	uint32_t fde;   /* offset in its section; with CFI_IN_DEBUG_FRAME set, in the second */
};

#define CFI_IN_DEBUG_FRAME 0x80000000u

/* Places a block: 1 KiB, as a page of memory that is first touched costs more than to read a page of a file. */
#define CFI_INDEX_BLOCK 128

/* The table of .eh_frame_hdr. */
struct cfi_hdr {
	struct elf_file *file;
	const uint8_t *data; /* of the section; NULL: it is in `file` */
	uint64_t offset;     /* of the section in `file` */
	size_t table;        /* behind that */
	uint64_t address;    /* what its numbers count from */
	uint64_t eh_address, max_fde;
};

struct cfi_index {
	uint64_t base; /* modulo 2^64: it may be below 0 */
	size_t n, n_blocks;
	struct cfi_place **blocks; /* by start, all different: .eh_frame goes first. NULL: not read yet */
	struct arena memory;       /* of blocks that are read from .eh_frame_hdr */
	struct cfi_hdr hdr;
	struct cfi_place *scanned; /* all places; NULL: by .eh_frame_hdr */
	bool is_checked, is_bad;   /* all of .eh_frame_hdr; what was read of it so far */
	bool is_short;             /* there was no memory for a block */
};

/*
 * Fills a zeroed index, which the caller gives to cfi_index_free() in any case. `sections` has two elements,
 * .eh_frame and .debug_frame; the file lacks one that has no data. It has to stay open. Malformed entries, and those for
 * code outside the executable segments of `f`, are skipped where the sections are read. -ENOENT: no entries at all;
 * -ENOMEM.
 */
int cfi_index_fill(struct cfi_index *index, struct cfi_section *sections, struct elf_file *f);

/* The same by the linker's table alone, if it may be used; else -EBADMSG. */
int cfi_index_open(struct cfi_index *index, struct elf_file *f, const struct elf_eh_frame *at);

/* The same by the sections alone. */
int cfi_index_scan(struct cfi_index *index, struct cfi_section *sections, const struct elf_file *f);
void cfi_index_free(struct cfi_index *index);

/*
 * *n becomes the number of places that start at or below the address; the last of them is its own. 0 also for
 * addresses 4 GiB or more above the base, and where the table is bad. -ENOMEM.
 */
int cfi_index_up_to(struct cfi_index *index, uint64_t address, size_t *n);

/* NULL: it can't be had, as the table is bad, or for want of memory. */
const struct cfi_place *cfi_index_place(struct cfi_index *index, size_t i);

/* Can a search be relied on? For a table of the linker's it is read from end to end, once. */
bool cfi_index_is_good(struct cfi_index *index);

size_t cfi_index_memory(const struct cfi_index *index);

#endif
