/* Address ranges of units: a sorted table, and the reader of .debug_aranges. */
#ifndef SYMBOLIZER_DWARF_RANGES_H
#define SYMBOLIZER_DWARF_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "symbolizer/dwarf/dwarf_interval.h"

struct dwarf_unit_range {
	uint64_t low, high;
	uint64_t unit; /* offset in .debug_info */
};

/* A zeroed one is empty. */
struct dwarf_ranges {
	struct dwarf_unit_range *ranges; /* by low, once sorted */
	size_t n, max;
};

/* -ENOMEM, also when there are too many ranges. */
int dwarf_ranges_add(struct dwarf_ranges *r, uint64_t low, uint64_t high, uint64_t unit);
void dwarf_ranges_sort(struct dwarf_ranges *r);
void dwarf_ranges_free(struct dwarf_ranges *r);

/*
 * The units that have the address, the one with the nearest beginning first; returns how many of at most `max`.
 * Narrows `same` to the addresses with the same answer.
 */
size_t dwarf_ranges_find(const struct dwarf_ranges *r, uint64_t address, struct dwarf_interval *same,
                         uint64_t *units, size_t max);

/*
 * Calls `each` for every range in a .debug_aranges section, until it returns anything but 0. -EBADMSG: malformed;
 * `each` was called for what comes before the fault.
 */
int dwarf_aranges_each(const uint8_t *data, size_t len,
                       int (*each)(uint64_t low, uint64_t high, uint64_t unit, void *context), void *context);

#endif
