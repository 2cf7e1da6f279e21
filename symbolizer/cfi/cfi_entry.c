/* Parses the entries (CIEs and FDEs) of .eh_frame and .debug_frame. */

#include "symbolizer/cfi/cfi_entry.h"

#include <errno.h>
#include <string.h>

/* DW_EH_PE_ constants, which are in the LSB and not in DWARF. */
enum {
	PE_ABSPTR = 0,
	PE_ULEB = 1,
	PE_UDATA2 = 2,
	PE_UDATA4 = 3,
	PE_UDATA8 = 4,
	PE_SLEB = 9,
	PE_SDATA2 = 10,
	PE_SDATA4 = 11,
	PE_SDATA8 = 12,
	PE_FORMAT = 15,
	PE_PCREL = 0x10,
	PE_APPLICATION = 0x70,
	PE_INDIRECT = 0x80,
};

static uint64_t pointer_value(struct dwarf_cursor *c, uint8_t format, uint8_t address_size)
{
	switch (format) {
	case PE_ABSPTR:
		return dwarf_fixed(c, address_size);
	case PE_ULEB:
		return dwarf_uleb(c);
	case PE_UDATA2:
		return dwarf_u16(c);
	case PE_UDATA4:
		return dwarf_u32(c);
	case PE_UDATA8:
	case PE_SDATA8:
		return dwarf_u64(c);
	case PE_SLEB:
		return (uint64_t)dwarf_sleb(c);
	case PE_SDATA2:
		return (uint64_t)(int64_t)(int16_t)dwarf_u16(c);
	case PE_SDATA4:
		return (uint64_t)(int64_t)(int32_t)dwarf_u32(c);
	default:
		dwarf_fail(c);
		return 0;
	}
}

uint64_t cfi_pointer(const struct cfi_bytes *bytes, struct dwarf_cursor *c, uint8_t encoding,
                     uint8_t address_size)
{
	uint64_t here = bytes->address + (c->failed ? 0 : (uint64_t)(c->pos - bytes->data));
	uint64_t value = pointer_value(c, encoding & PE_FORMAT, address_size);

	if (encoding & PE_INDIRECT)
		dwarf_fail(c);
	switch (encoding & PE_APPLICATION) {
	case 0:
		return value;
	case PE_PCREL:
		return value + here;
	default:
		dwarf_fail(c);
		return 0;
	}
}

/* A length of an entry, 64 bits wide. */
#define MAX_LENGTH_BYTES 12
#define MAX_AUGMENTATION 16 /* letters; there are not half as many */

/* An entry of either kind, once its length and CIE pointer have been read. */
struct header {
	struct cfi_bytes bytes; /* all of it is in them */
	struct dwarf_cursor c;  /* behind the CIE pointer, to the entry's end */
	size_t next;            /* where the next entry begins, also if this one can't be had */
	bool is_cie;
	uint64_t cie; /* offset of an FDE's CIE */
};

static uint64_t offset_of(const struct cfi_bytes *bytes, const uint8_t *pos)
{
	return bytes->offset + (uint64_t)(pos - bytes->data);
}

/*
 * Has all of an entry read; what its length says may be wrong. *next becomes where that ends, or the section does. False:
 * none, or one that is too long or can't be read.
 */
static bool read_whole(struct cfi_section *s, enum cfi_use use, size_t offset, struct cfi_bytes *out,
                       size_t *next)
{
	struct dwarf_cursor c;
	uint64_t len, end;

	*next = s->len;
	if (!cfi_section_bytes(s, use, offset, MAX_LENGTH_BYTES, out))
		return false;
	c = dwarf_cursor_at(out->data, out->len, offset - out->offset);
	len = dwarf_u32(&c);
	if (len == UINT32_MAX)
		len = dwarf_u64(&c);
	if (c.failed || len >= s->len)
		return false;
	end = offset_of(out, c.pos) + len;
	*next = end < s->len ? end : s->len;
	return cfi_section_bytes(s, use, offset, MAX_LENGTH_BYTES + len, out);
}

static bool read_header(struct cfi_section *s, enum cfi_use use, size_t offset, struct header *out)
{
	struct dwarf_cursor c;
	uint8_t offset_size;
	uint64_t len, at, pointer;

	if (!read_whole(s, use, offset, &out->bytes, &out->next))
		return false;
	c = dwarf_cursor_at(out->bytes.data, out->bytes.len, offset - out->bytes.offset);
	len = dwarf_initial_length(&c, &offset_size);
	if (c.failed)
		return false;
	c.end = c.pos + len;
	out->is_cie = false;
	out->cie = UINT64_MAX;
	out->c = c;
	if (!len)
		return true; /* a terminator; others may follow */
	at = offset_of(&out->bytes, c.pos);
	pointer = dwarf_fixed(&c, s->is_eh ? 4 : offset_size);
	out->c = c;
	if (c.failed)
		return true;
	if (s->is_eh) {
		out->is_cie = !pointer;
		out->cie = at - pointer;
	} else {
		out->is_cie = pointer == (offset_size == 4 ? UINT32_MAX : UINT64_MAX);
		out->cie = pointer;
	}
	return true;
}

/* What the letters behind 'z' stand for. */
static void read_augmentation(struct dwarf_cursor *c, const char *letters, struct cfi_cie *out)
{
	struct dwarf_cursor data = *c;
	uint8_t encoding;

	for (; *letters && !data.failed; letters++) {
		switch (*letters) {
		case 'R':
			out->pointer_encoding = dwarf_u8(&data);
			break;
		case 'P':
			/* Where the personality routine is does not matter, only how long that takes to say.
			 */
			encoding = dwarf_u8(&data);
			cfi_pointer(&out->bytes, &data, encoding & 0x0f, out->address_size);
			break;
		case 'L':
			dwarf_u8(&data);
			break;
		case 'S':
			out->is_signal = true;
			break;
		case 'B': /* aarch64: signs by key B, which takes the same bits off again */
			break;
		default:
			return;
		}
	}
}

static int read_cie(struct cfi_section *s, uint64_t offset, struct cfi_cie *out)
{
	struct header h;
	uint64_t len;
	uint8_t version;
	const char *augmentation;

	*out = (struct cfi_cie){ .address_size = 8 };
	if (offset >= s->len || !read_header(s, CFI_FOR_CIE, offset, &h) || !h.is_cie)
		return -EBADMSG;
	out->bytes = h.bytes;
	version = dwarf_u8(&h.c);
	augmentation = dwarf_string(&h.c);
	if (version >= 4) {
		out->address_size = dwarf_u8(&h.c);
		dwarf_u8(&h.c); /* segment selector size */
	}
	out->code_alignment = dwarf_uleb(&h.c);
	out->data_alignment = dwarf_sleb(&h.c);
	out->return_register = version == 1 ? dwarf_u8(&h.c) : dwarf_uleb(&h.c);
	if (h.c.failed || strnlen(augmentation, MAX_AUGMENTATION) == MAX_AUGMENTATION ||
	    (out->address_size != 8 && out->address_size != 4) ||
	    (s->arch->has_link && out->return_register >= s->arch->pc))
		return -EBADMSG;
	if (*augmentation == 'z') {
		out->has_augmentation_data = true;
		len = dwarf_uleb(&h.c);
		read_augmentation(&h.c, augmentation + 1, out);
		dwarf_skip(&h.c, len);
	} else if (*augmentation) {
		return -EBADMSG;
	}
	out->program = h.c;
	return h.c.failed ? -EBADMSG : 0;
}

/* Leaves the cursor at the instructions. */
static bool read_range(const struct cfi_bytes *bytes, const struct cfi_cie *cie, struct dwarf_cursor *c,
                       uint64_t *start, uint64_t *length)
{
	*start = cfi_pointer(bytes, c, cie->pointer_encoding, cie->address_size);
	*length = cfi_pointer(bytes, c, cie->pointer_encoding & 0x0f, cie->address_size);
	if (cie->has_augmentation_data)
		dwarf_skip(c, dwarf_uleb(c));
	return !c->failed;
}

static bool read_known_cie(struct cfi_section *s, uint64_t offset, struct cfi_known_cie *known)
{
	if (known->section != s || known->offset != offset || known->moves != s->moves) {
		known->section = s;
		known->offset = offset;
		known->is_usable = !read_cie(s, offset, &known->cie);
		known->moves = s->moves;
	}
	return known->is_usable;
}

static bool read_fde(struct cfi_section *s, size_t offset, struct cfi_known_cie *known, struct cfi_fde *out,
                     size_t *next)
{
	struct header h;
	bool readable = read_header(s, CFI_FOR_FDE, offset, &h);
	uint32_t moves = s->moves;

	if (next)
		*next = h.next;
	if (!readable || h.is_cie || h.cie == UINT64_MAX || !read_known_cie(s, h.cie, known) ||
	    s->moves != moves || !read_range(&h.bytes, &known->cie, &h.c, &out->start, &out->length))
		return false;
	out->cie = known->cie;
	out->bytes = h.bytes;
	out->program = h.c;
	return true;
}

bool cfi_entry_read(struct cfi_section *s, size_t offset, struct cfi_known_cie *known, struct cfi_fde *out,
                    size_t *next)
{
	uint32_t moves;
	bool is_read;

	/* To make room for the CIE takes the FDE away. There is room for both the next time. */
	do {
		moves = s->moves;
		is_read = read_fde(s, offset, known, out, next);
	} while (s->moves != moves);
	return is_read;
}
