/* The instructions that CIEs and FDEs are made of. */
#ifndef SYMBOLIZER_CFI_PROGRAM_H
#define SYMBOLIZER_CFI_PROGRAM_H

#include "symbolizer/cfi.h"
#include "symbolizer/dwarf_cursor.h"

/* One of the two sections. */
struct cfi_section {
	const uint8_t *data;
	size_t len;
	uint64_t address; /* where it is in memory, for pc-relative pointers */
	bool is_eh;
};

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

/* A pointer in one of the encodings of .eh_frame. An encoding that code addresses can't have fails the
 * cursor. */
uint64_t cfi_pointer(const struct cfi_section *s, struct dwarf_cursor *c, uint8_t encoding,
                     uint8_t address_size);

/*
 * Runs the CIE's and then the FDE's instructions up to `address`; `start` and `end` are the FDE's. -EBADMSG:
 * unknown instructions, or numbers that no frame could have.
 */
int cfi_program_run(const struct cfi_section *s, const struct cfi_cie *cie, struct dwarf_cursor fde,
                    uint64_t start, uint64_t end, uint64_t address, struct cfi_row *out);

#endif
