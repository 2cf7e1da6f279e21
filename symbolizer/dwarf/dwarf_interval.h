/*
 * The addresses around one for which a lookup gives the same answer: each step of the lookup narrows the interval by
 * the addresses that it compares with.
 */
#ifndef SYMBOLIZER_DWARF_INTERVAL_H
#define SYMBOLIZER_DWARF_INTERVAL_H

#include <stdint.h>

struct dwarf_interval {
	uint64_t low, high; /* without high */
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
