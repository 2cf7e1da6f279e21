/* Which unit covers which addresses, from the units' root DIEs. */
#ifndef SYMBOLIZER_DWARF_RANGE_TABLE_H
#define SYMBOLIZER_DWARF_RANGE_TABLE_H

#include "symbolizer/dwarf_unit.h"

struct dwarf_unit_range {
	uint64_t low, high;
	uint32_t unit; /* its index */
};

struct dwarf_range_table {
	struct dwarf_unit_range *ranges; /* by low; they may overlap */
	size_t n, max;
};

/*
 * Fills an empty table with what `f`, whose code `d` describes, holds code at. Returns how many units had lists that
 * could not be read to their end.
 */
uint64_t dwarf_range_table_read(struct dwarf_range_table *t, const struct dwarf_info *d, struct elf_file *f);
void dwarf_range_table_free(struct dwarf_range_table *t);

/* How many begin at or below the address. */
size_t dwarf_range_table_below(const struct dwarf_range_table *t, uint64_t address);

#endif
