/* The entries that .eh_frame and .debug_frame are made of: CIEs, and FDEs, which are one function's each. */
#ifndef SYMBOLIZER_CFI_ENTRY_H
#define SYMBOLIZER_CFI_ENTRY_H

#include "symbolizer/cfi/cfi_section.h"
#include "symbolizer/base/dwarf_cursor.h"

/* What an FDE takes from its CIE. */
struct cfi_cie {
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
	struct dwarf_cursor program;
	uint64_t start, length; /* of the code */
};

/* The CIE read last, since most FDEs of a section share theirs. Zeroed: none. */
struct cfi_known_cie {
	const uint8_t *section;
	uint64_t offset;
	bool is_usable;
	struct cfi_cie cie;
};

/* A pointer in one of the encodings of .eh_frame. An encoding that code addresses can't have fails the cursor. */
uint64_t cfi_pointer(const struct cfi_section *s, struct dwarf_cursor *c, uint8_t encoding,
                     uint8_t address_size);

/*
 * The FDE at `offset`. False: there is none (a CIE, an end mark, or an entry that makes no sense). *next, if not
 * NULL, becomes where the next entry begins: the section's end when that can't be told.
 */
bool cfi_entry_read(struct cfi_section *s, size_t offset, struct cfi_known_cie *known, struct cfi_fde *out,
                    size_t *next);

#endif
