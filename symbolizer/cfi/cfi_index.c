/* Builds the table of functions by address, from .eh_frame_hdr or by reading the sections from end to end. */

#include "symbolizer/cfi/cfi_index.h"
#include "symbolizer/base/search.h"
#include "symbolizer/base/growing_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PLACES (1 << 24)

/* Four bytes, a pointer of up to ten and the number of pairs. */
#define HDR_HEAD_BYTES 18

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

/* The bytes of .eh_frame_hdr, or where they are in the file. */
struct hdr {
	struct elf_file *file;
	struct elf_section section; /* no data: read them from `offset` of the file */
	uint64_t offset;
};

static int find_hdr(struct elf_file *f, struct hdr *out)
{
	*out = (struct hdr){ .file = f };
	if (!elf_file_section_place(f, ".eh_frame_hdr", &out->section, &out->offset))
		return 0;
	return elf_file_section(f, ".eh_frame_hdr", &out->section);
}

static int read_hdr_bytes(const struct hdr *hdr, size_t at, void *to, size_t len)
{
	if (!hdr->section.data)
		return elf_file_read(hdr->file, hdr->offset + at, to, len);
	memcpy(to, hdr->section.data + at, len);
	return 0;
}

/* Returns how many pairs the table has, and at which byte it begins; 0: none that can be used. */
static size_t read_hdr_head(const struct hdr *hdr, size_t *table)
{
	uint8_t head[HDR_HEAD_BYTES], version, pointer_encoding, count_encoding, table_encoding;
	size_t len = hdr->section.len < sizeof(head) ? hdr->section.len : sizeof(head);
	const struct cfi_section as_section = { .data = head, .len = len, .address = hdr->section.address };
	struct dwarf_cursor c = dwarf_cursor_at(head, len, 0);
	uint32_t n;

	if (read_hdr_bytes(hdr, 0, head, len))
		return 0;
	version = dwarf_u8(&c);
	pointer_encoding = dwarf_u8(&c);
	count_encoding = dwarf_u8(&c);
	table_encoding = dwarf_u8(&c);
	cfi_pointer(&as_section, &c, pointer_encoding, 8);
	n = dwarf_u32(&c);
	*table = (size_t)(c.pos - head);
	if (c.failed || version != HDR_VERSION || count_encoding != COUNT_UDATA4 ||
	    table_encoding != TABLE_DATAREL_SDATA4 ||
	    n > (hdr->section.len - *table) / sizeof(struct cfi_place) || n > MAX_PLACES)
		return 0;
	return n;
}

/*
 * Makes places of the table's pairs, which stand in places[]: each two numbers from the section's address. False: not
 * all functions by address, each once. A large file has a hundred thousand, all of them read before its first frame.
 */
static bool convert_table(struct cfi_index *index, size_t n, const struct cfi_section *eh, uint64_t address)
{
	uint64_t max_fde = eh->len < CFI_IN_DEBUG_FRAME ? eh->len : CFI_IN_DEBUG_FRAME, start, fde, last = 0;
	struct cfi_place *p;
	bool is_good = true;

	index->base = address + (uint64_t)(int64_t)(int32_t)index->places[0].start;
	for (p = index->places; p < index->places + n; p++) {
		start = address + (uint64_t)(int64_t)(int32_t)p->start - index->base;
		fde = address + (uint64_t)(int64_t)(int32_t)p->fde - eh->address;
		is_good &= fde < max_fde && start <= UINT32_MAX && (p == index->places || start > last);
		*p = (struct cfi_place){ .start = (uint32_t)start, .fde = (uint32_t)fde };
		last = start;
	}
	return is_good;
}

static int fill_by_hdr(struct cfi_index *index, const struct cfi_section *eh, struct elf_file *f)
{
	struct hdr hdr;
	int err = find_hdr(f, &hdr);
	size_t n = 0, table;

	if (!err)
		n = read_hdr_head(&hdr, &table);
	if (!err)
		err = n ? reserve(index, n) : -EBADMSG;
	if (!err)
		err = read_hdr_bytes(&hdr, table, index->places, n * sizeof(*index->places));
	if (!err && !convert_table(index, n, eh, hdr.section.address))
		err = -EBADMSG;
	if (hdr.section.data)
		elf_file_release(f, hdr.section.index);
	index->n = err ? 0 : n;
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
