/* Resolves attribute values to strings, addresses, references and ranges. */
#include <dwarf.h>
#include <errno.h>

#include "symbolizer/dwarf/dwarf_form.h"
#include "symbolizer/dwarf/dwarf_unit.h"

/* For an entry of a list of ranges: some 20 ns. */
#define RANGE_STEPS 8

/* With its NUL. Nobody makes use of longer ones; all units may share one that is as long as the section. */
#define MAX_STRING 32768

static const char *string_in(const struct dwarf_section *section, uint64_t offset)
{
	struct dwarf_cursor c = dwarf_cursor_at(section->data, section->len, offset);
	const char *string;

	if (dwarf_left(&c) > MAX_STRING)
		c.end = c.pos + MAX_STRING;
	string = dwarf_string(&c);
	return c.failed ? NULL : string;
}

/* The index-th entry of `size` bytes behind `base`. */
static bool entry_at(const struct dwarf_section *section, uint64_t base, uint64_t index, unsigned int size,
                     uint64_t *out)
{
	struct dwarf_cursor c = dwarf_cursor_at(section->data, section->len, base);

	if (index > section->len)
		return false;
	dwarf_skip(&c, index * size);
	*out = dwarf_fixed(&c, size);
	return !c.failed;
}

const char *dwarf_value_string(const struct dwarf_info *d, const struct dwarf_unit *u,
                               const struct dwarf_value *v)
{
	uint64_t offset;

	switch (v->form) {
	case DW_FORM_string:
		return v->string;
	case DW_FORM_strp:
		return string_in(&d->str, v->number);
	case DW_FORM_line_strp:
		return string_in(&d->line_str, v->number);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return d->alt ? string_in(&d->alt->str, v->number) : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		if (!entry_at(&d->str_offsets, u->str_offsets_base, v->number, u->offset_size, &offset))
			return NULL;
		return string_in(&d->str, offset);
	default:
		return NULL;
	}
}

bool dwarf_value_address(const struct dwarf_info *d, const struct dwarf_unit *u, const struct dwarf_value *v,
                         uint64_t *address)
{
	if (v->form == DW_FORM_addr) {
		*address = v->number;
		return true;
	}
	return dwarf_form_is_address(v->form) &&
	       entry_at(&d->addr, u->addr_base, v->number, u->address_size, address);
}

bool dwarf_value_reference(struct dwarf_info *d, const struct dwarf_unit *u, const struct dwarf_value *v,
                           struct dwarf_info **in, uint64_t *offset)
{
	*in = d;
	*offset = v->number;
	switch (v->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		*offset += u->offset;
		return true;
	case DW_FORM_ref_addr:
		return true;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		*in = d->alt;
		return d->alt;
	default:
		return false;
	}
}

/* DWARF 2 to 4: pairs of addresses relative to a base, which a pair of (~0, base) changes. */
static int each_old_range(struct dwarf_info *d, const struct dwarf_unit *u, uint64_t offset,
                          dwarf_range_fn each, void *context)
{
	struct dwarf_cursor c = dwarf_cursor_at(d->ranges.data, d->ranges.len, offset);
	uint64_t base = u->low_pc, low, high, all_ones = u->address_size == 8 ? UINT64_MAX : UINT32_MAX;
	int err = 0;

	while (!err) {
		low = dwarf_fixed(&c, u->address_size);
		high = dwarf_fixed(&c, u->address_size);
		if (c.failed)
			return -EBADMSG;
		if (!low && !high)
			return 0;
		if (!dwarf_info_work(d, RANGE_STEPS))
			return -EFBIG;
		if (low == all_ones)
			base = high;
		else if (low < high)
			err = each(base + low, base + high, context);
	}
	return err;
}

/* Reads one address by its index in .debug_addr. */
static uint64_t indexed(const struct dwarf_info *d, const struct dwarf_unit *u, struct dwarf_cursor *c)
{
	uint64_t index = dwarf_uleb(c), address = 0;

	if (!entry_at(&d->addr, u->addr_base, index, u->address_size, &address))
		dwarf_fail(c);
	return address;
}

struct range {
	uint64_t low, high;
};

/* One entry of a DWARF 5 list. Returns 1: a range; 0: none, go on; 2: the end. */
static int read_entry(const struct dwarf_info *d, const struct dwarf_unit *u, struct dwarf_cursor *c,
                      uint64_t *base, struct range *out)
{
	switch (dwarf_u8(c)) {
	case DW_RLE_end_of_list:
		return 2;
	case DW_RLE_base_addressx:
		*base = indexed(d, u, c);
		return 0;
	case DW_RLE_base_address:
		*base = dwarf_fixed(c, u->address_size);
		return 0;
	case DW_RLE_startx_endx:
		out->low = indexed(d, u, c);
		out->high = indexed(d, u, c);
		return 1;
	case DW_RLE_startx_length:
		out->low = indexed(d, u, c);
		out->high = out->low + dwarf_uleb(c);
		return 1;
	case DW_RLE_offset_pair:
		out->low = *base + dwarf_uleb(c);
		out->high = *base + dwarf_uleb(c);
		return 1;
	case DW_RLE_start_end:
		out->low = dwarf_fixed(c, u->address_size);
		out->high = dwarf_fixed(c, u->address_size);
		return 1;
	case DW_RLE_start_length:
		out->low = dwarf_fixed(c, u->address_size);
		out->high = out->low + dwarf_uleb(c);
		return 1;
	default:
		dwarf_fail(c);
		return 0;
	}
}

static int each_new_range(struct dwarf_info *d, const struct dwarf_unit *u, uint64_t offset,
                          dwarf_range_fn each, void *context)
{
	struct dwarf_cursor c = dwarf_cursor_at(d->rnglists.data, d->rnglists.len, offset);
	uint64_t base = u->low_pc;
	const uint8_t *began;
	struct range range;
	int err = 0, kind;

	while (!err) {
		began = c.pos;
		kind = read_entry(d, u, &c, &base, &range);
		/* Numbers may be padded to any length, and break off then. */
		if (!dwarf_info_work(d, RANGE_STEPS + ((uintptr_t)c.pos - (uintptr_t)began)))
			return -EFBIG;
		if (c.failed)
			return -EBADMSG;
		if (kind == 2)
			return 0;
		if (kind == 1 && range.low < range.high)
			err = each(range.low, range.high, context);
	}
	return err;
}

static int each_listed(struct dwarf_info *d, const struct dwarf_unit *u, const struct dwarf_value *ranges,
                       dwarf_range_fn each, void *context)
{
	uint64_t offset = ranges->number;

	if (u->version < 5)
		return each_old_range(d, u, offset + u->ranges_base, each, context);
	if (ranges->form == DW_FORM_rnglistx) {
		if (!entry_at(&d->rnglists, u->rnglists_base, ranges->number, u->offset_size, &offset))
			return -EBADMSG;
		offset += u->rnglists_base;
	}
	return each_new_range(d, u, offset, each, context);
}

int dwarf_each_range(struct dwarf_info *d, const struct dwarf_unit *u, const struct dwarf_value *low_pc,
                     const struct dwarf_value *high_pc, const struct dwarf_value *ranges, dwarf_range_fn each,
                     void *context)
{
	uint64_t low, high;

	if (ranges->form)
		return each_listed(d, u, ranges, each, context);
	if (!high_pc->form || !dwarf_value_address(d, u, low_pc, &low))
		return 0;
	if (!dwarf_form_is_address(high_pc->form))
		high = low + high_pc->number;
	else if (!dwarf_value_address(d, u, high_pc, &high))
		return -EBADMSG;
	return low < high ? each(low, high, context) : 0;
}
