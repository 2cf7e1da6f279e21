/*
 * Reading forward through bytes that may be wrong. Past the end every read yields 0 and sets `failed`, so a
 * parser checks once, after a group of reads.
 */
#ifndef SYMBOLIZER_DWARF_CURSOR_H
#define SYMBOLIZER_DWARF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct dwarf_cursor {
	const uint8_t *pos, *end;
	bool failed;
};

/* A cursor from `offset` of `data` to its end; a failed one if the offset is outside. */
static inline struct dwarf_cursor dwarf_cursor_at(const uint8_t *data, size_t len, uint64_t offset)
{
	if (!data || offset > len)
		return (struct dwarf_cursor){ .failed = true };
	return (struct dwarf_cursor){ .pos = data + offset, .end = data + len };
}

static inline size_t dwarf_left(const struct dwarf_cursor *c)
{
	return (size_t)(c->end - c->pos);
}

static inline void dwarf_fail(struct dwarf_cursor *c)
{
	c->failed = true;
	c->pos = c->end;
}

static inline void dwarf_skip(struct dwarf_cursor *c, uint64_t len)
{
	if (len > dwarf_left(c))
		dwarf_fail(c);
	else if (len)
		c->pos += len;
}

/* Little-endian number of 1 to 8 bytes. */
static inline uint64_t dwarf_fixed(struct dwarf_cursor *c, unsigned int size)
{
	uint64_t value = 0;

	if (size > dwarf_left(c) || size > 8) {
		dwarf_fail(c);
		return 0;
	}
	memcpy(&value, c->pos, size);
	c->pos += size;
	return value;
}

static inline uint8_t dwarf_u8(struct dwarf_cursor *c)
{
	return c->pos < c->end ? *c->pos++ : (dwarf_fail(c), (uint8_t)0);
}

static inline uint16_t dwarf_u16(struct dwarf_cursor *c)
{
	return (uint16_t)dwarf_fixed(c, 2);
}

static inline uint32_t dwarf_u32(struct dwarf_cursor *c)
{
	return (uint32_t)dwarf_fixed(c, 4);
}

static inline uint64_t dwarf_u64(struct dwarf_cursor *c)
{
	return dwarf_fixed(c, 8);
}

/* Bits beyond 64 are dropped. */
static inline uint64_t dwarf_uleb(struct dwarf_cursor *c)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = dwarf_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static inline int64_t dwarf_sleb(struct dwarf_cursor *c)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = dwarf_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		value |= ~(uint64_t)0 << shift;
	return (int64_t)value;
}

/* NUL-terminated; "" on failure. */
static inline const char *dwarf_string(struct dwarf_cursor *c)
{
	const uint8_t *nul = dwarf_left(c) ? memchr(c->pos, 0, dwarf_left(c)) : NULL;
	const char *string = (const char *)c->pos;

	if (!nul) {
		dwarf_fail(c);
		return "";
	}
	c->pos = nul + 1;
	return string;
}

/*
 * Reads the length that begins a unit, 32 or 64 bits wide; *offset_size becomes 4 or 8. Does not move the cursor's
 * end; a length beyond it fails.
 */
static inline uint64_t dwarf_initial_length(struct dwarf_cursor *c, uint8_t *offset_size)
{
	uint64_t len = dwarf_u32(c);

	*offset_size = 4;
	if (len == 0xffffffff) {
		len = dwarf_u64(c);
		*offset_size = 8;
	} else if (len >= 0xfffffff0) {
		dwarf_fail(c);
	}
	if (len > dwarf_left(c))
		dwarf_fail(c);
	return c->failed ? 0 : len;
}

#endif
