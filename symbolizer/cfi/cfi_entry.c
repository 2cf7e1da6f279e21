/* Parses the entries (CIEs and FDEs) of .eh_frame and .debug_frame. */

#include "symbolizer/cfi/cfi_entry.h"

#include <errno.h>

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

uint64_t cfi_pointer(const struct cfi_section *s, struct dwarf_cursor *c, uint8_t encoding,
                     uint8_t address_size)
{
	uint64_t here = s->address + (c->failed ? 0 : (uint64_t)(c->pos - s->data));
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

/* An entry of either kind, once its length and CIE pointer have been read. */
struct header {
	struct dwarf_cursor c; /* behind the CIE pointer, to the entry's end */
	size_t next;           /* where the next entry begins */
	bool is_cie;
	uint64_t cie; /* offset of an FDE's CIE */
};

static bool read_header(struct cfi_section *s, size_t offset, struct header *out)
{
	bool is_there = cfi_section_need(s, offset, MAX_LENGTH_BYTES);
	struct dwarf_cursor c = dwarf_cursor_at(s->data, s->len, offset);
	uint8_t offset_size;
	uint64_t len = dwarf_initial_length(&c, &offset_size), at, pointer;

	if (c.failed || !is_there || !cfi_section_need(s, (uint64_t)(c.pos - s->data), len))
		return false;
	c.end = c.pos + len;
	out->next = (size_t)(c.end - s->data);
	out->is_cie = false;
	out->cie = UINT64_MAX;
	out->c = c;
	if (!len)
		return true; /* a terminator; others may follow */
	at = (uint64_t)(c.pos - s->data);
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
static void read_augmentation(const struct cfi_section *s, struct dwarf_cursor *c, const char *letters,
                              struct cfi_cie *out)
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
			cfi_pointer(s, &data, encoding & 0x0f, out->address_size);
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
	if (offset >= s->len || !read_header(s, offset, &h) || !h.is_cie)
		return -EBADMSG;
	version = dwarf_u8(&h.c);
	augmentation = dwarf_string(&h.c);
	if (version >= 4) {
		out->address_size = dwarf_u8(&h.c);
		dwarf_u8(&h.c); /* segment selector size */
	}
	out->code_alignment = dwarf_uleb(&h.c);
	out->data_alignment = dwarf_sleb(&h.c);
	out->return_register = version == 1 ? dwarf_u8(&h.c) : dwarf_uleb(&h.c);
	if (h.c.failed || (out->address_size != 8 && out->address_size != 4) ||
	    (s->arch->has_link && out->return_register >= s->arch->pc))
		return -EBADMSG;
	if (*augmentation == 'z') {
		out->has_augmentation_data = true;
		len = dwarf_uleb(&h.c);
		read_augmentation(s, &h.c, augmentation + 1, out);
		dwarf_skip(&h.c, len);
	} else if (*augmentation) {
		return -EBADMSG;
	}
	out->program = h.c;
	return h.c.failed ? -EBADMSG : 0;
}

/* Leaves the cursor at the instructions. */
static bool read_range(const struct cfi_section *s, const struct cfi_cie *cie, struct dwarf_cursor *c,
                       uint64_t *start, uint64_t *length)
{
	*start = cfi_pointer(s, c, cie->pointer_encoding, cie->address_size);
	*length = cfi_pointer(s, c, cie->pointer_encoding & 0x0f, cie->address_size);
	if (cie->has_augmentation_data)
		dwarf_skip(c, dwarf_uleb(c));
	return !c->failed;
}

static bool read_known_cie(struct cfi_section *s, uint64_t offset, struct cfi_known_cie *known)
{
	if (known->section != s->data || known->offset != offset) {
		known->section = s->data;
		known->offset = offset;
		known->is_usable = !read_cie(s, offset, &known->cie);
	}
	return known->is_usable;
}

bool cfi_entry_read(struct cfi_section *s, size_t offset, struct cfi_known_cie *known, struct cfi_fde *out,
                    size_t *next)
{
	struct header h;
	bool readable = read_header(s, offset, &h);

	if (next)
		*next = readable ? h.next : s->len;
	if (!readable || h.is_cie || h.cie == UINT64_MAX || !read_known_cie(s, h.cie, known) ||
	    !read_range(s, &known->cie, &h.c, &out->start, &out->length))
		return false;
	out->cie = known->cie;
	out->program = h.c;
	return true;
}
