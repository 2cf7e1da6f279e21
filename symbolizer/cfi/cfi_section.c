/* Reads .eh_frame and .debug_frame entry by entry, as they are asked for. */

#include "symbolizer/cfi/cfi_section.h"

#include <stdlib.h>
#include <string.h>

/*
 * A CIE has some 30 bytes, an FDE some 50, those of large functions some 300. Where FDEs are read one after the other,
 * or the section has no more, the buffer is filled; else what is not needed would cost more than the call.
 */
#define CIE_BYTES 128
#define FDE_BYTES 1408
#define ONE_BYTES 320

static bool make_buffer(struct cfi_section *s, size_t fde_bytes, size_t cie_bytes)
{
	uint8_t *buffer = malloc(fde_bytes + 2 * cie_bytes);

	if (!buffer)
		return false;
	free(s->buffer);
	s->data = s->buffer = buffer;
	s->have[0] = (struct cfi_span){ .room = fde_bytes };
	s->have[1] = (struct cfi_span){ .at = fde_bytes, .room = cie_bytes };
	s->have[2] = (struct cfi_span){ .at = fde_bytes + cie_bytes, .room = cie_bytes };
	s->moves++;
	return true;
}

void cfi_section_open_at(struct cfi_section *s, struct elf_file *f, const struct elf_section *place,
                         uint64_t offset)
{
	if (!make_buffer(s, FDE_BYTES, CIE_BYTES))
		return;
	s->file = f;
	s->offset = offset;
	s->len = place->len;
	s->address = place->address;
	s->is_eh = true;
}

void cfi_section_open(struct cfi_section *s, struct elf_file *f, const char *name)
{
	struct elf_section section;
	uint64_t offset;

	if (!elf_file_section_place(f, name, &section, &offset) && section.len) {
		cfi_section_open_at(s, f, &section, offset);
	} else if (!elf_file_section(f, name, &section)) {
		s->data = section.data;
		s->len = section.len;
		s->address = section.address;
	}
	s->is_eh = name[1] == 'e';
}

void cfi_section_close(struct cfi_section *s)
{
	free(s->buffer);
	*s = (struct cfi_section){ 0 };
}

static bool is_in(const struct cfi_span *span, uint64_t offset, uint64_t len)
{
	return offset >= span->offset && offset + len <= span->offset + span->len;
}

/* The span that has these bytes, or else that they are to be read into. */
static struct cfi_span *span_for(struct cfi_section *s, enum cfi_use use, uint64_t offset, uint64_t len)
{
	if (use == CFI_FOR_FDE)
		return &s->have[0];
	if (is_in(&s->have[1], offset, len))
		return &s->have[1];
	if (is_in(&s->have[2], offset, len))
		return &s->have[2];
	s->next_cie = s->next_cie == 1 ? 2 : 1;
	return &s->have[s->next_cie];
}

/* The sizes don't wrap: `len` is bounded by cfi_section_bytes(), and so is twice the room. */
static bool make_room(struct cfi_section *s, enum cfi_use use, size_t len)
{
	size_t fde = s->have[0].room, cie = s->have[1].room, *room = use == CFI_FOR_FDE ? &fde : &cie;

	if (len <= *room)
		return true;
	*room = len > 2 * *room ? len : 2 * *room;
	return make_buffer(s, fde, cie);
}

/* `len` bytes from `from` on, or from so much before it that there are so many. */
static bool fill(struct cfi_section *s, struct cfi_span *span, uint64_t from, size_t len)
{
	len = len < s->len ? len : s->len;
	span->offset = from < s->len - len ? from : s->len - len;
	span->len = 0;
	if (elf_file_read(s->file, s->offset + span->offset, s->buffer + span->at, len))
		return false;
	span->len = len;
	return true;
}

static bool read_part(struct cfi_section *s, enum cfi_use use, struct cfi_span *span, uint64_t offset,
                      size_t len)
{
	const struct cfi_span *fdes = &s->have[0];
	bool is_next = is_in(span, offset, 0) && span->len;

	if (!make_room(s, use, len))
		return false;
	if (use == CFI_FOR_CIE && is_in(fdes, offset, len)) {
		len = fdes->offset + fdes->len - offset;
		span->len = len < span->room ? len : span->room;
		span->offset = offset;
		memcpy(s->buffer + span->at, s->buffer + fdes->at + (offset - fdes->offset), span->len);
		return true;
	}
	if (is_next || s->len <= span->room || len > ONE_BYTES || use == CFI_FOR_CIE)
		return fill(s, span, offset, span->room);
	return fill(s, span, offset, ONE_BYTES);
}

bool cfi_section_bytes(struct cfi_section *s, enum cfi_use use, uint64_t offset, uint64_t len,
                       struct cfi_bytes *out)
{
	struct cfi_span *span;

	if (!s->data || offset > s->len || len > (use == CFI_FOR_FDE ? CFI_MAX_FDE_BYTES : CFI_MAX_CIE_BYTES))
		return false;
	if (!s->file) {
		*out = (struct cfi_bytes){ .data = s->data, .len = s->len, .address = s->address };
		return true;
	}
	if (len > s->len - offset)
		len = s->len - offset;
	span = span_for(s, use, offset, len);
	if (!is_in(span, offset, len) && !read_part(s, use, span, offset, len))
		return false;
	*out = (struct cfi_bytes){ .data = s->buffer + span->at,
		                   .len = span->len,
		                   .offset = span->offset,
		                   .address = s->address + span->offset };
	return true;
}

size_t cfi_section_memory(const struct cfi_section *s)
{
	return s->have[0].room + s->have[1].room + s->have[2].room;
}
