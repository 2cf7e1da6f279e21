/* Decodes the three forms of CPython's line tables: lnotab, ranges, locations. */

#include "symbolizer/python/python_lines.h"

#define NO_LINE    (-128) /* as an increment of PEP 626: the range has none */
#define UNIT_BYTES 2      /* an instruction's */

static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t line_by_lnotab(const uint8_t *table, size_t len, int64_t line, int64_t offset)
{
	int64_t at = 0;
	size_t i;

	for (i = 0; i + 2 <= len; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

static uint32_t line_by_ranges(const uint8_t *table, size_t len, int64_t line, int64_t offset)
{
	int64_t end = 0;
	int8_t increment;
	size_t i;

	for (i = 0; i + 2 <= len; i += 2) {
		end += table[i];
		increment = (int8_t)table[i + 1];
		if (increment != NO_LINE)
			line += increment;
		if (offset < end)
			return increment == NO_LINE ? 0 : as_line(line);
	}
	return 0;
}

/* --- location tables ---------------------------------------------------------------------------- */

enum {
	ENTRY_START = 0x80, /* this bit begins an entry, and is in none of its other bytes */
	ENTRY_SAME_LINE = 10,
	ENTRY_TWO_LINES_ON = 12, /* these three: the line goes on by kind - ENTRY_SAME_LINE */
	ENTRY_NO_COLUMNS = 13,
	ENTRY_LONG = 14,
	ENTRY_NO_LOCATION = 15
};

/* Six bits a byte, the lowest first; the sign is the lowest bit. */
static int64_t signed_number(const uint8_t *at, const uint8_t *end)
{
	uint64_t value = 0;
	unsigned int shift;

	for (shift = 0; at < end && shift < 36; shift += 6) {
		value |= (uint64_t)(*at & 0x3f) << shift;
		if (!(*at++ & 0x40))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t entry_increment(unsigned int kind, const uint8_t *rest, const uint8_t *end)
{
	if (kind == ENTRY_NO_COLUMNS || kind == ENTRY_LONG)
		return signed_number(rest, end);
	return kind >= ENTRY_SAME_LINE && kind <= ENTRY_TWO_LINES_ON ? kind - ENTRY_SAME_LINE : 0;
}

static uint32_t line_by_locations(const uint8_t *table, size_t len, int64_t line, int64_t offset)
{
	const uint8_t *at = table, *end = table + len;
	int64_t covered = 0;
	unsigned int kind;

	while (at < end && *at & ENTRY_START) {
		kind = *at >> 3 & 15;
		covered += ((*at & 7) + 1) * UNIT_BYTES;
		at++;
		line += entry_increment(kind, at, end);
		if (offset < covered)
			return kind == ENTRY_NO_LOCATION ? 0 : as_line(line);
		while (at < end && !(*at & ENTRY_START))
			at++;
	}
	return 0;
}

uint32_t python_line(enum python_lines_form form, const uint8_t *table, size_t len, int32_t first_line,
                     int64_t offset)
{
	if (offset < 0)
		return as_line(first_line);
	switch (form) {
	case PYTHON_LINES_LNOTAB:
		return line_by_lnotab(table, len, first_line, offset);
	case PYTHON_LINES_RANGES:
		return line_by_ranges(table, len, first_line, offset);
	default:
		return line_by_locations(table, len, first_line, offset);
	}
}
