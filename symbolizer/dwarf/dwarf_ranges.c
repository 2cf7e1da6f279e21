/* Address ranges of units: a sorted table, and the reader of .debug_aranges. */

#include "symbolizer/dwarf/dwarf_ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/dwarf_cursor.h"
#include "symbolizer/base/search.h"
#include "symbolizer/base/growing_array.h"

#define MAX_RANGES (1 << 24)

/* How many ranges a lookup goes back for one that overlaps those after it. */
#define MAX_OVERLAPS 32

int dwarf_ranges_add(struct dwarf_ranges *r, uint64_t low, uint64_t high, uint64_t unit)
{
	if (growing_array_reserve((void **)&r->ranges, r->n + 1, &r->max, sizeof(*r->ranges), MAX_RANGES))
		return -ENOMEM;
	r->ranges[r->n++] = (struct dwarf_unit_range){ low, high, unit };
	return 0;
}

static int compare_lows(const void *a, const void *b)
{
	const struct dwarf_unit_range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

void dwarf_ranges_sort(struct dwarf_ranges *r)
{
	if (r->n)
		qsort(r->ranges, r->n, sizeof(*r->ranges), compare_lows);
}

void dwarf_ranges_free(struct dwarf_ranges *r)
{
	free(r->ranges);
	*r = (struct dwarf_ranges){ 0 };
}

size_t dwarf_ranges_find(const struct dwarf_ranges *r, uint64_t address, struct dwarf_interval *same,
                         uint64_t *units, size_t max)
{
	size_t low, i, n = 0;
	const struct dwarf_unit_range *range;

	low = search_past(at, 0, r->n, r->ranges[at].low <= address);
	if (low < r->n)
		dwarf_interval_end(same, r->ranges[low].low);
	if (low)
		dwarf_interval_begin(same, r->ranges[low - 1].low);
	for (i = 0; i < MAX_OVERLAPS && i < low && n < max; i++) {
		range = &r->ranges[low - 1 - i];
		if (address >= range->high) {
			dwarf_interval_begin(same, range->high);
		} else {
			dwarf_interval_end(same, range->high);
			units[n++] = range->unit;
		}
	}
	return n;
}

/* --- .debug_aranges ---------------------------------------------------------------------------------- */

/* One set, of which the cursor ends where it does; `began` is its first byte. */
static int read_set(struct dwarf_cursor *c, const uint8_t *began, uint8_t offset_size,
                    int (*each)(uint64_t low, uint64_t high, uint64_t unit, void *context), void *context)
{
	uint64_t unit, low, len;
	uint8_t address_size;
	int err = 0;

	if (dwarf_u16(c) != 2)
		return 0;
	unit = dwarf_fixed(c, offset_size);
	address_size = dwarf_u8(c);
	dwarf_u8(c); /* size of segment selectors: none on our machines */
	if (c->failed || (address_size != 8 && address_size != 4))
		return -EBADMSG;
	/* The pairs stand at a multiple of their size. */
	dwarf_skip(c, -(uint64_t)(c->pos - began) & (2u * address_size - 1));
	while (!err && dwarf_left(c)) {
		low = dwarf_fixed(c, address_size);
		len = dwarf_fixed(c, address_size);
		if (c->failed)
			return -EBADMSG;
		if (len && low + len > low)
			err = each(low, low + len, unit, context);
	}
	return err;
}

int dwarf_aranges_each(const uint8_t *data, size_t len,
                       int (*each)(uint64_t low, uint64_t high, uint64_t unit, void *context), void *context)
{
	struct dwarf_cursor c = dwarf_cursor_at(data, len, 0), set;
	const uint8_t *began;
	uint8_t offset_size;
	uint64_t set_len;
	int err = 0;

	while (!err && dwarf_left(&c)) {
		began = c.pos;
		set_len = dwarf_initial_length(&c, &offset_size);
		if (c.failed)
			return -EBADMSG;
		set = c;
		set.end = c.pos + set_len;
		dwarf_skip(&c, set_len);
		err = read_set(&set, began, offset_size, each, context);
	}
	return err;
}
