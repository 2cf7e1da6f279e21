/* What the readers of .debug_info share: a file's sections and units, a DIE, an attribute's value. */
#ifndef SYMBOLIZER_DWARF_TYPES_H
#define SYMBOLIZER_DWARF_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/address_map.h"
#include "symbolizer/dwarf/dwarf_abbrev.h"
#include "symbolizer/base/dwarf_cursor.h"
#include "symbolizer/elf/elf_file.h"

struct dwarf_section {
	const uint8_t *data; /* NULL: none */
	size_t len;
};

/* A value as it was read: `number` is the constant, the offset, the index; `form` says which. 0: absent. */
struct dwarf_value {
	uint64_t number;
	const char *string; /* of DW_FORM_string */
	uint16_t form;
};

struct dwarf_unit {
	uint64_t offset, first_die, end; /* in .debug_info */
	uint64_t abbrev_offset;
	uint64_t low_pc; /* base of its range lists */
	uint64_t str_offsets_base, addr_base, rnglists_base;
	uint64_t ranges_base;     /* added to what points into .debug_ranges: of GNU's split units only */
	uint64_t dwo_ranges_base; /* of a skeleton: the ranges_base of its split unit */
	uint64_t dwo_id;          /* of a skeleton and of its split unit; 0: neither */
	const char *dwo_name;     /* of a skeleton: the file that has its split unit; else NULL */
	uint64_t stmt_list;       /* in .debug_line; UINT64_MAX: none */
	const char *name, *comp_dir;
	struct dwarf_abbrevs *abbrevs; /* NULL until needed; belongs to the dwarf_info */
	uint16_t version, language;
	uint8_t address_size, offset_size;
	/* For the reader of functions and lines. */
	uint32_t number;     /* of a skeleton, counted from 1 */
	uint8_t errors_told; /* its errors that have been counted */
	struct dwarf_value root_low_pc, root_high_pc, root_ranges;
};

struct dwarf_info {
	struct dwarf_section info, abbrev, str, line_str, str_offsets, addr, ranges, rnglists, line, aranges;
	struct elf_file *file; /* the file of these sections */
	int refused; /* why not all could be read: a section was broken or too large, a bound was met; 0: it could */
	bool units_read;
	struct dwarf_unit *units; /* all of them, when they have been read */
	size_t n_units;
	struct dwarf_unit **lone; /* by offset: those asked for before that */
	size_t n_lone;
	struct dwarf_info *alt;            /* of the file that dwz shares; NULL: none. Not ours to free */
	const struct dwarf_unit *skeleton; /* of a split unit; NULL: these are none. Not ours to free */
	struct dwarf_abbrevs **abbrev_tables;
	size_t n_abbrev_tables;
	struct address_map abbrev_by_offset;
	size_t memory, abbrev_memory;
	uint64_t errors;                    /* units or DIEs given up */
	struct dwarf_abbrevs *root_abbrevs; /* of the unit read last, as far as its root needs; NULL: none */
	uint64_t root_abbrevs_at;           /* their offset */
	struct dwarf_info *payer;           /* whose work this file's is: dwarf_info_work(); NULL: its own */
	uint64_t work;
	bool overworked;
};

/*
 * The attributes of a DIE that are needed here: of units, of functions, and of what names are made of. Of all other
 * tags only `sibling` is set, and that only where there are children.
 */
struct dwarf_die {
	const struct dwarf_abbrev *abbrev;
	uint64_t offset;
	struct dwarf_value name, linkage_name, low_pc, high_pc, ranges, origin, sibling, call_file, call_line,
	        stmt_list, comp_dir, str_offsets_base, addr_base, rnglists_base, ranges_base, dwo_name,
	        dwo_id, language;
};

#endif
