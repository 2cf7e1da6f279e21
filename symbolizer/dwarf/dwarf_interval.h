/*
 * Addresses around one, for all of which a lookup goes the same way: each step of it narrows the interval by
 * what it has compared the address with.
 */
#ifndef SYMBOLIZER_DWARF_INTERVAL_H
#define SYMBOLIZER_DWARF_INTERVAL_H

#include <stdint.h>

struct dwarf_interval {
	uint64_t low, high; /* not in it: high */
};

static inline void dwarf_interval_begin(struct dwarf_interval *i, uint64_t low)
{
	if (low > i->low)
		i->low = low;
}

static inline void dwarf_interval_end(struct dwarf_interval *i, uint64_t high)
{
	if (high < i->high)
		i->high = high;
}

#endif
