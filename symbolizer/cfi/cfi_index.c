/* Builds the table of functions by address, from .eh_frame_hdr or by reading the sections from end to end. */

#include "symbolizer/cfi/cfi_index.h"
#include "symbolizer/base/search.h"
#include "symbolizer/base/growing_array.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_PLACES (1 << 24)

/* How .eh_frame_hdr says what its table has: pairs of 4-byte numbers, from the section's address. */
enum { HDR_VERSION = 1, COUNT_UDATA4 = 0x03, TABLE_DATAREL_SDATA4 = 0x3b };

/* An entry found by reading a section, before there is a base. */
struct found {
	uint64_t start;
	uint32_t fde;
};

struct found_list {
	struct found *list;
	size_t n, max;
};

static int add_found(struct found_list *l, uint64_t start, uint32_t fde)
{
	if (growing_array_reserve((void **)&l->list, l->n + 1, &l->max, sizeof(*l->list), MAX_PLACES))
		return -ENOMEM;
	l->list[l->n++] = (struct found){ .start = start, .fde = fde };
	return 0;
}

static int scan(struct found_list *l, struct cfi_section *s, uint32_t mark, const struct elf_file *f)
{
	struct cfi_known_cie known = { 0 };
	struct cfi_fde fde;
	size_t offset, next;
	int err = 0;

	for (offset = 0; !err && offset < s->len && offset < CFI_IN_DEBUG_FRAME; offset = next)
		if (cfi_entry_read(s, offset, &known, &fde, &next) && fde.length &&
		    fde.length <= UINT32_MAX && elf_file_executable(f, fde.start))
			err = add_found(l, fde.start, (uint32_t)offset | mark);
	return err;
}

static int compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->fde < y->fde ? -1 : x->fde > y->fde;
}

static int reserve(struct cfi_index *index, size_t n)
{
	index->places = n > MAX_PLACES ? NULL : malloc((n + 1) * sizeof(*index->places));
	index->max = index->places ? n : 0;
	return index->places ? 0 : -ENOMEM;
}

/* Code further than 4 GiB behind the first function is left out. */
static int take_found(struct cfi_index *index, const struct found_list *l)
{
	const struct found *e;
	int err = reserve(index, l->n);

	if (err || !l->n)
		return err;
	index->base = l->list[0].start;
	for (e = l->list; e < l->list + l->n && e->start - index->base <= UINT32_MAX; e++)
		if (e == l->list || e->start != e[-1].start)
			index->places[index->n++] =
			        (struct cfi_place){ .start = (uint32_t)(e->start - index->base),
				                    .fde = e->fde };
	return 0;
}

static int fill_by_scan(struct cfi_index *index, struct cfi_section *sections, const struct elf_file *f)
{
	struct found_list l = { 0 };
	int err = scan(&l, &sections[0], 0, f);

	if (!err)
		err = scan(&l, &sections[1], CFI_IN_DEBUG_FRAME, f);
	if (!err && l.n)
		qsort(l.list, l.n, sizeof(*l.list), compare_found);
	if (!err)
		err = take_found(index, &l);
	free(l.list);
	return err;
}

/* Leaves the cursor at the table and returns how many pairs there are; 0: none that can be used. */
static size_t read_hdr(const struct elf_section *hdr, struct dwarf_cursor *c)
{
	const struct cfi_section as_section = { .data = hdr->data, .len = hdr->len, .address = hdr->address };
	uint8_t version, pointer_encoding, count_encoding, table_encoding;
	uint32_t n;

	*c = dwarf_cursor_at(hdr->data, hdr->len, 0);
	version = dwarf_u8(c);
	pointer_encoding = dwarf_u8(c);
	count_encoding = dwarf_u8(c);
	table_encoding = dwarf_u8(c);
	cfi_pointer(&as_section, c, pointer_encoding, 8);
	n = dwarf_u32(c);
	if (c->failed || version != HDR_VERSION || count_encoding != COUNT_UDATA4 ||
	    table_encoding != TABLE_DATAREL_SDATA4 || n > dwarf_left(c) / 8 || n > MAX_PLACES)
		return 0;
	return n;
}

static uint64_t datarel(const struct elf_section *hdr, struct dwarf_cursor *c)
{
	return hdr->address + (uint64_t)(int64_t)(int32_t)dwarf_u32(c);
}

/* -EBADMSG: not a table with all functions by address, each once. */
static int take_table(struct cfi_index *index, const struct cfi_section *eh, const struct elf_section *hdr)
{
	struct dwarf_cursor c;
	size_t n = read_hdr(hdr, &c), i;
	uint64_t start, fde;
	int err = n ? reserve(index, n) : -EBADMSG;

	for (i = 0; i < n && !err; i++) {
		start = datarel(hdr, &c);
		fde = datarel(hdr, &c) - eh->address;
		if (!i)
			index->base = start;
		if (fde >= eh->len || fde >= CFI_IN_DEBUG_FRAME || start < index->base ||
		    (i && start - index->base <= index->places[i - 1].start))
			err = -EBADMSG;
		index->places[i] =
		        (struct cfi_place){ .start = (uint32_t)(start - index->base), .fde = (uint32_t)fde };
	}
	index->n = err ? 0 : n;
	return err;
}

static int fill_by_hdr(struct cfi_index *index, const struct cfi_section *eh, struct elf_file *f)
{
	struct elf_section hdr;
	int err = elf_file_section(f, ".eh_frame_hdr", &hdr);

	if (err)
		return err;
	err = take_table(index, eh, &hdr);
	elf_file_release(f, hdr.index);
	if (err)
		cfi_index_free(index);
	return err;
}

int cfi_index_fill(struct cfi_index *index, struct cfi_section *sections, struct elf_file *f)
{
	int err = sections[1].data ? -ENOENT : fill_by_hdr(index, &sections[0], f);

	if (err)
		err = fill_by_scan(index, sections, f);
	return err ? err : index->n ? 0 : -ENOENT;
}

void cfi_index_free(struct cfi_index *index)
{
	free(index->places);
	*index = (struct cfi_index){ 0 };
}

size_t cfi_index_up_to(const struct cfi_index *index, uint64_t address)
{
	size_t low;
	uint64_t start = address - index->base;

	if (address < index->base || start > UINT32_MAX)
		return 0;
	low = search_past(i, 0, index->n, index->places[i].start <= start);
	return low;
}
