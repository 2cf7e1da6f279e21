/* Abbreviation tables: what a DIE with a certain code looks like. */
#ifndef SYMBOLIZER_DWARF_ABBREV_H
#define SYMBOLIZER_DWARF_ABBREV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dwarf_attribute {
	uint16_t name, form; /* DW_AT_*, DW_FORM_* */
	int64_t implicit;    /* of DW_FORM_implicit_const */
};

struct dwarf_abbrev {
	uint64_t code;
	uint16_t tag; /* DW_TAG_* */
	bool has_children;
	bool is_wanted; /* set by the reader of DIEs */
	bool is_unneeded,
	        is_unneeded_in_c; /* set by it, too: nothing to read in such a DIE or its children */
	uint16_t fixed_length;    /* of all attributes together; UINT16_MAX: not fixed, or not known */
	uint16_t sibling_at; /* where the attributes have DW_AT_sibling as 4 bytes; UINT16_MAX: nowhere */
	uint32_t first, n_attributes; /* in the table's attributes */
};

struct dwarf_abbrevs {
	struct dwarf_abbrev *entries; /* by code */
	size_t n_entries;
	struct dwarf_attribute *attributes;
	size_t n_attributes;
};

/*
 * Reads the table at `offset` of .debug_abbrev; with `only_code`, no further than that code's declaration.
 * *n_read becomes how many bytes that took, in any case. -EBADMSG: not such a table.
 */
int dwarf_abbrevs_read(const uint8_t *data, size_t len, uint64_t offset, uint64_t only_code,
                       struct dwarf_abbrevs **out, uint64_t *n_read);
void dwarf_abbrevs_free(struct dwarf_abbrevs *a);

/* NULL: no such code. */
const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *a, uint64_t code);
size_t dwarf_abbrevs_memory(const struct dwarf_abbrevs *a);

#endif
