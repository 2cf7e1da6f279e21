/* Finds a split unit in the index of a .dwp file (.debug_cu_index) by its dwo_id. */

#include "symbolizer/dwarf/dwarf_package.h"

#include <errno.h>

#include "symbolizer/base/dwarf_cursor.h"

#define MAX_COLUMNS 64

/* A hash table has a slot and a half a unit, or more, and their number is a power of two. */
#define MAX_SLOTS(units) (4 * (uint64_t)(units) + 16)

/* The tables of one index, all within it. */
struct index {
	struct dwarf_cursor signatures, rows, titles, offsets, lengths;
	uint32_t version, columns, units, slots;
};

/* What a column is titled, DW_SECT_*: the two versions differ behind 6. */
static enum dwarf_package_part part_of(uint32_t version, uint32_t title)
{
	switch (title) {
	case 1:
		return PACKAGE_INFO;
	case 3:
		return PACKAGE_ABBREV;
	case 6:
		return PACKAGE_STR_OFFSETS;
	case 8:
		return version == 5 ? PACKAGE_RNGLISTS : PACKAGE_PARTS;
	default:
		return PACKAGE_PARTS;
	}
}

static struct dwarf_cursor take(struct dwarf_cursor *c, uint64_t len)
{
	struct dwarf_cursor taken = *c;

	dwarf_skip(c, len);
	taken.failed = c->failed;
	taken.end = c->failed ? taken.pos : taken.pos + len;
	return taken;
}

static int read_index(const uint8_t *data, size_t len, struct index *out)
{
	struct dwarf_cursor c = dwarf_cursor_at(data, len, 0);
	uint64_t cells;

	out->version = dwarf_u32(&c); /* in version 5 two bytes, and two of padding */
	out->columns = dwarf_u32(&c);
	out->units = dwarf_u32(&c);
	out->slots = dwarf_u32(&c);
	if (c.failed || (out->version != 2 && out->version != 5) || out->columns > MAX_COLUMNS ||
	    out->slots & (out->slots - 1) || out->slots > MAX_SLOTS(out->units))
		return -EBADMSG;
	cells = (uint64_t)out->columns * out->units;
	out->signatures = take(&c, (uint64_t)out->slots * 8);
	out->rows = take(&c, (uint64_t)out->slots * 4);
	out->titles = take(&c, (uint64_t)out->columns * 4);
	out->offsets = take(&c, cells * 4);
	out->lengths = take(&c, cells * 4);
	return c.failed ? -EBADMSG : 0;
}

/* The index-th number of a table. */
static uint64_t number_at(struct dwarf_cursor table, uint64_t index, unsigned int size)
{
	dwarf_skip(&table, index * size);
	return dwarf_fixed(&table, size);
}

/* Numbers of rows count from 1; 0: not there. More slots than there are units are not taken. */
static uint32_t find_row(const struct index *x, uint64_t dwo_id, uint32_t *tries)
{
	uint32_t mask = x->slots - 1, slot = (uint32_t)dwo_id & mask, step, row;

	step = ((uint32_t)(dwo_id >> 32) & mask) | 1;
	while (*tries < x->slots && *tries <= x->units) {
		++*tries;
		row = (uint32_t)number_at(x->rows, slot, 4);
		if (!row || number_at(x->signatures, slot, 8) == dwo_id)
			return row;
		slot = (slot + step) & mask;
	}
	return 0;
}

int dwarf_package_find(const uint8_t *data, size_t len, uint64_t dwo_id, struct dwarf_package_row *out,
                       uint32_t *tries)
{
	struct index x;
	enum dwarf_package_part part;
	uint32_t row, column;
	uint64_t cell;

	*out = (struct dwarf_package_row){ 0 };
	*tries = 0;
	if (read_index(data, len, &x))
		return -EBADMSG;
	row = find_row(&x, dwo_id, tries);
	if (!row)
		return -ENOENT;
	if (row > x.units)
		return -EBADMSG;
	for (column = 0; column < x.columns; column++) {
		part = part_of(x.version, (uint32_t)number_at(x.titles, column, 4));
		if (part == PACKAGE_PARTS)
			continue;
		cell = (uint64_t)(row - 1) * x.columns + column;
		out->parts[part].offset = (uint32_t)number_at(x.offsets, cell, 4);
		out->parts[part].len = (uint32_t)number_at(x.lengths, cell, 4);
	}
	return 0;
}
