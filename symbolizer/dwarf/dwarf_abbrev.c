/* Reads a table of .debug_abbrev and finds abbreviations by code. */

#include "symbolizer/dwarf/dwarf_abbrev.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/dwarf_cursor.h"
#include "symbolizer/base/search.h"

/* The largest tables of real compilers have some thousands; these take some 60 MB at most. */
#define MAX_ENTRIES    (1 << 20)
#define MAX_ATTRIBUTES (1 << 20)

/* Doubles an array that is full. */
static int make_room(void **array, size_t n, size_t size)
{
	void *bigger;

	if (n & (n - 1) || (n && n < 16))
		return 0;
	bigger = realloc(*array, (n ? n * 2 : 16) * size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	return 0;
}

static int read_attributes(struct dwarf_abbrevs *a, struct dwarf_cursor *c)
{
	struct dwarf_attribute *attribute;
	uint64_t name, form;
	int64_t implicit;
	int err;

	for (;;) {
		name = dwarf_uleb(c);
		form = dwarf_uleb(c);
		implicit = form == DW_FORM_implicit_const ? dwarf_sleb(c) : 0;
		if (c->failed || name > UINT16_MAX || form > UINT16_MAX || a->n_attributes >= MAX_ATTRIBUTES)
			return -EBADMSG;
		if (!name && !form)
			return 0;
		err = make_room((void **)&a->attributes, a->n_attributes, sizeof(*a->attributes));
		if (err)
			return err;
		attribute = &a->attributes[a->n_attributes++];
		*attribute = (struct dwarf_attribute){ (uint16_t)name, (uint16_t)form, implicit };
	}
}

static int read_entry(struct dwarf_abbrevs *a, struct dwarf_cursor *c, uint64_t code)
{
	uint64_t tag = dwarf_uleb(c);
	bool has_children = dwarf_u8(c);
	size_t first = a->n_attributes;
	int err;

	if (c->failed || tag > UINT16_MAX || a->n_entries >= MAX_ENTRIES)
		return -EBADMSG;
	err = read_attributes(a, c);
	if (!err)
		err = make_room((void **)&a->entries, a->n_entries, sizeof(*a->entries));
	if (err)
		return err;
	a->entries[a->n_entries++] =
	        (struct dwarf_abbrev){ .code = code,
		                       .tag = (uint16_t)tag,
		                       .has_children = has_children,
		                       .is_wanted = true,
		                       .fixed_length = UINT16_MAX,
		                       .sibling_at = UINT16_MAX,
		                       .first = (uint32_t)first,
		                       .n_attributes = (uint32_t)(a->n_attributes - first) };
	return 0;
}

static int compare_codes(const void *a, const void *b)
{
	const struct dwarf_abbrev *x = a, *y = b;

	return x->code < y->code ? -1 : x->code > y->code;
}

static void sort_by_code(struct dwarf_abbrevs *a)
{
	size_t i;

	for (i = 1; i < a->n_entries; i++)
		if (a->entries[i - 1].code >= a->entries[i].code)
			break;
	if (i < a->n_entries)
		qsort(a->entries, a->n_entries, sizeof(*a->entries), compare_codes);
}

int dwarf_abbrevs_read(const uint8_t *data, size_t len, uint64_t offset, uint64_t only_code,
                       struct dwarf_abbrevs **out, uint64_t *n_read)
{
	struct dwarf_cursor c = dwarf_cursor_at(data, len, offset);
	struct dwarf_abbrevs *a = calloc(1, sizeof(*a));
	const uint8_t *began = c.pos;
	uint64_t code;
	int err = 0;

	*n_read = 0;
	if (!a)
		return -ENOMEM;
	do {
		code = dwarf_uleb(&c);
		if (code)
			err = read_entry(a, &c, code);
	} while (!err && code && code != only_code);
	*n_read = began ? (uint64_t)(c.pos - began) : 0;
	if (!err && c.failed)
		err = -EBADMSG;
	if (err) {
		dwarf_abbrevs_free(a);
		return err;
	}
	sort_by_code(a);
	*out = a;
	return 0;
}

void dwarf_abbrevs_free(struct dwarf_abbrevs *a)
{
	if (!a)
		return;
	free(a->entries);
	free(a->attributes);
	free(a);
}

const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *a, uint64_t code)
{
	size_t low;

	if (code && code <= a->n_entries && a->entries[code - 1].code == code)
		return &a->entries[code - 1];
	low = search_past(i, 0, a->n_entries, a->entries[i].code < code);
	return low < a->n_entries && a->entries[low].code == code ? &a->entries[low] : NULL;
}

size_t dwarf_abbrevs_memory(const struct dwarf_abbrevs *a)
{
	return sizeof(*a) + a->n_entries * sizeof(*a->entries) + a->n_attributes * sizeof(*a->attributes);
}
