/* The table of functions by address, from .eh_frame_hdr or by reading the sections from end to end. */

#include "symbolizer/cfi/cfi_index.h"
#include "symbolizer/base/search.h"
#include "symbolizer/base/growing_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PLACES  (1 << 24)
#define MAX_ENTRIES (1u << 25) /* that are looked at, in a section: also ends and what cannot be read */

/* The numbers of its pairs are signed, so they count from this far below the section. */
#define BELOW 0x80000000u

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
	size_t offset, next, n = 0;
	int err = 0;

	for (offset = 0; !err && n++ < MAX_ENTRIES && offset < s->len && offset < CFI_IN_DEBUG_FRAME;
	     offset = next)
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

static int make_blocks(struct cfi_index *index, size_t n)
{
	size_t n_blocks = (n + CFI_INDEX_BLOCK - 1) / CFI_INDEX_BLOCK;

	index->blocks = calloc(n_blocks + 1, sizeof(struct cfi_place *));
	if (!index->blocks)
		return -ENOMEM;
	index->n = n;
	index->n_blocks = n_blocks;
	return 0;
}

/* Code further than 4 GiB behind the first function is left out. */
static int take_found(struct cfi_index *index, const struct found_list *l)
{
	const struct found *e;
	size_t n = 0, i;
	int err;

	if (!l->n)
		return 0;
	index->scanned = malloc((l->n + 1) * sizeof(*index->scanned));
	if (!index->scanned)
		return -ENOMEM;
	index->base = l->list[0].start;
	for (e = l->list; e < l->list + l->n && e->start - index->base <= UINT32_MAX; e++)
		if (e == l->list || e->start != e[-1].start)
			index->scanned[n++] = (struct cfi_place){ .start = (uint32_t)(e->start - index->base),
				                                  .fde = e->fde };
	err = make_blocks(index, n);
	for (i = 0; !err && i < index->n_blocks; i++)
		index->blocks[i] = index->scanned + i * CFI_INDEX_BLOCK;
	return err;
}

int cfi_index_scan(struct cfi_index *index, struct cfi_section *sections, const struct elf_file *f)
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
	index->is_checked = true;
	return err ? err : index->n ? 0 : -ENOENT;
}

/* --- .eh_frame_hdr ------------------------------------------------------------------------------------ */

static int read_hdr(const struct cfi_hdr *hdr, size_t at, void *to, size_t len)
{
	if (!hdr->data)
		return elf_file_read(hdr->file, hdr->offset + at, to, len);
	memcpy(to, hdr->data + at, len);
	return 0;
}

/* Returns how many pairs the table has; 0: none that can be used. */
static size_t read_start(struct cfi_hdr *hdr, const uint8_t *start, size_t section_len)
{
	uint8_t version, pointer_encoding, count_encoding, table_encoding;
	size_t len = section_len < EH_FRAME_HDR_START ? section_len : EH_FRAME_HDR_START;
	const struct cfi_bytes bytes = { .data = start, .len = len, .address = hdr->address };
	struct dwarf_cursor c = dwarf_cursor_at(start, len, 0);
	uint32_t n;

	version = dwarf_u8(&c);
	pointer_encoding = dwarf_u8(&c);
	count_encoding = dwarf_u8(&c);
	table_encoding = dwarf_u8(&c);
	cfi_pointer(&bytes, &c, pointer_encoding, 8);
	n = dwarf_u32(&c);
	hdr->table = (size_t)(c.pos - start);
	if (c.failed || version != HDR_VERSION || count_encoding != COUNT_UDATA4 ||
	    table_encoding != TABLE_DATAREL_SDATA4 ||
	    n > (section_len - hdr->table) / sizeof(struct cfi_place) || n > MAX_PLACES)
		return 0;
	return n;
}

int cfi_index_open(struct cfi_index *index, struct elf_file *f, const struct elf_eh_frame *at)
{
	size_t n, max_fde = at->frames.len < CFI_IN_DEBUG_FRAME ? at->frames.len : CFI_IN_DEBUG_FRAME;

	index->hdr = (struct cfi_hdr){ .file = f,
		                       .data = at->hdr.data,
		                       .offset = at->hdr_offset,
		                       .address = at->hdr.address,
		                       .eh_address = at->frames.address,
		                       .max_fde = max_fde };
	index->base = at->hdr.address - BELOW;
	n = read_start(&index->hdr, at->start, at->hdr.len);
	return n ? make_blocks(index, n) : -EBADMSG;
}

/* By the section called so. */
static int open_hdr(struct cfi_index *index, const struct cfi_section *eh, struct elf_file *f)
{
	struct elf_eh_frame at = { .frames = { .len = eh->len, .address = eh->address } };
	struct cfi_hdr hdr = { .file = f };
	size_t len;

	if (elf_file_section_place(f, ".eh_frame_hdr", &at.hdr, &at.hdr_offset) &&
	    elf_file_section(f, ".eh_frame_hdr", &at.hdr))
		return -ENOENT;
	hdr.data = at.hdr.data;
	hdr.offset = at.hdr_offset;
	len = at.hdr.len < sizeof(at.start) ? at.hdr.len : sizeof(at.start);
	return read_hdr(&hdr, 0, at.start, len) ? -EBADMSG : cfi_index_open(index, f, &at);
}

static size_t places_in(const struct cfi_index *index, size_t block)
{
	size_t left = index->n - block * CFI_INDEX_BLOCK;

	return left < CFI_INDEX_BLOCK ? left : CFI_INDEX_BLOCK;
}

/* Reads a block of the table and makes places of its pairs. False: it can't be read, or is not sorted by address. */
static bool read_block(const struct cfi_index *index, size_t number, struct cfi_place *places)
{
	const struct cfi_hdr *hdr = &index->hdr;
	size_t i, n = places_in(index, number), at = number * CFI_INDEX_BLOCK * sizeof(*places);
	bool is_good = !read_hdr(hdr, hdr->table + at, places, n * sizeof(*places));
	uint64_t fde;

	for (i = 0; is_good && i < n; i++) {
		fde = hdr->address + (uint64_t)(int64_t)(int32_t)places[i].fde - hdr->eh_address;
		places[i] = (struct cfi_place){ .start = places[i].start + BELOW, .fde = (uint32_t)fde };
		is_good = fde < hdr->max_fde && (!i || places[i].start > places[i - 1].start);
	}
	return is_good;
}

static const struct cfi_place *load_block(struct cfi_index *index, size_t number)
{
	size_t n = places_in(index, number);
	struct cfi_place *block = arena_alloc(&index->memory, n * sizeof(*block));

	index->is_short |= !block;
	if (!block)
		return NULL;
	index->is_bad = !read_block(index, number, block);
	return index->is_bad ? NULL : (index->blocks[number] = block);
}

/* NULL as cfi_index_place(). */
static const struct cfi_place *block_at(struct cfi_index *index, size_t number)
{
	if (index->is_bad)
		return NULL;
	return index->blocks[number] ? index->blocks[number] : load_block(index, number);
}

bool cfi_index_is_good(struct cfi_index *index)
{
	struct cfi_place block[CFI_INDEX_BLOCK];
	uint32_t last = 0;
	size_t i;

	for (i = 0; !index->is_checked && !index->is_bad && i < index->n_blocks; i++) {
		index->is_bad = !read_block(index, i, block) || (i && block->start <= last);
		last = block[places_in(index, i) - 1].start;
	}
	index->is_checked = true;
	return !index->is_bad;
}

/* --- searching ---------------------------------------------------------------------------------------- */

int cfi_index_fill(struct cfi_index *index, struct cfi_section *sections, struct elf_file *f)
{
	int err = sections[1].data || !sections[0].data ? -ENOENT : open_hdr(index, &sections[0], f);

	if (!err)
		return 0;
	cfi_index_free(index);
	return cfi_index_scan(index, sections, f);
}

void cfi_index_free(struct cfi_index *index)
{
	arena_free(&index->memory);
	free(index->blocks);
	free(index->scanned);
	*index = (struct cfi_index){ 0 };
}

const struct cfi_place *cfi_index_place(struct cfi_index *index, size_t i)
{
	const struct cfi_place *block = i < index->n ? block_at(index, i / CFI_INDEX_BLOCK) : NULL;

	return block ? &block[i % CFI_INDEX_BLOCK] : NULL;
}

/*
 * How many blocks begin at or below; 0 also when one can't be had. A block that begins below and ends above is the last
 * of them, whatever the others have: these need not be read.
 */
static size_t blocks_up_to(struct cfi_index *index, uint64_t start)
{
	size_t low = 0, high = index->n_blocks, middle;
	const struct cfi_place *block;

	while (low < high) {
		middle = low + (high - low) / 2;
		block = block_at(index, middle);
		if (!block)
			return 0;
		if (block->start > start)
			high = middle;
		else if (block[places_in(index, middle) - 1].start > start)
			return middle + 1;
		else
			low = middle + 1;
	}
	return low;
}

int cfi_index_up_to(struct cfi_index *index, uint64_t address, size_t *n)
{
	uint64_t start = address - index->base;
	const struct cfi_place *block;
	size_t number;

	*n = 0;
	index->is_short = false;
	number = start <= UINT32_MAX ? blocks_up_to(index, start) : 0;
	if (!number)
		return index->is_short ? -ENOMEM : 0;
	block = index->blocks[--number];
	*n = number * CFI_INDEX_BLOCK + search_past(i, 1, places_in(index, number), block[i].start <= start);
	return 0;
}

size_t cfi_index_memory(const struct cfi_index *index)
{
	return index->memory.bytes + index->n_blocks * sizeof(struct cfi_place *) +
	       (index->scanned ? index->n * sizeof(*index->scanned) : 0);
}
