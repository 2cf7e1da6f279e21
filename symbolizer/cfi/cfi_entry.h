/* Entries of .eh_frame and .debug_frame: FDEs, each for one function, and CIEs, which FDEs share. */
#ifndef SYMBOLIZER_CFI_ENTRY_H
#define SYMBOLIZER_CFI_ENTRY_H

#include "symbolizer/cfi/cfi_section.h"
#include "symbolizer/base/dwarf_cursor.h"

/* What an FDE takes from its CIE. */
struct cfi_cie {
	struct cfi_bytes bytes; /* that it was read from */
	struct dwarf_cursor program;
	uint64_t code_alignment;
	int64_t data_alignment;
	uint64_t return_register;
	uint8_t pointer_encoding; /* DW_EH_PE_* of addresses */
	uint8_t address_size;
	bool has_augmentation_data;
	bool is_signal;
};

struct cfi_fde {
	struct cfi_cie cie;
	struct cfi_bytes bytes;
	struct dwarf_cursor program;
	uint64_t start, length; /* of the code */
};

/* The CIE read last, kept since most FDEs of a section share one. Zeroed: none. */
struct cfi_known_cie {
	const struct cfi_section *section;
	uint64_t offset;
	uint32_t moves; /* of the section, then */
	bool is_usable;
	struct cfi_cie cie;
};

/*
 * Reads a pointer in one of the encodings of .eh_frame, where the cursor is in `bytes`. An encoding that code addresses
 * can't have fails the cursor.
 */
uint64_t cfi_pointer(const struct cfi_bytes *bytes, struct dwarf_cursor *c, uint8_t encoding,
                     uint8_t address_size);

/*
 * Reads the FDE at `offset`. False: there is none (a CIE, an end mark, an entry that is malformed or too long). *next,
 * if not NULL, becomes the offset of the next entry, or the section's end where that can't be told. What is found stays
 * until the next entry is read.
 */
bool cfi_entry_read(struct cfi_section *s, size_t offset, struct cfi_known_cie *known, struct cfi_fde *out,
                    size_t *next);

#endif
