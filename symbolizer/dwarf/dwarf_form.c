/* Reads and skips attribute values in every form of DWARF 2 to 5. */

#include "symbolizer/dwarf/dwarf_form.h"

#include <dwarf.h>

/* Bytes of the forms whose length is fixed; -1: not fixed; -2: an offset; -3: an address. */
#define NOT_FIXED (-1)
#define OFFSET    (-2)
#define ADDRESS   (-3)

static int fixed_length(uint16_t form)
{
	switch (form) {
	case DW_FORM_implicit_const:
	case DW_FORM_flag_present:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return ADDRESS;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return OFFSET;
	default:
		return NOT_FIXED;
	}
}

int dwarf_form_usual_length(uint16_t form)
{
	int len = fixed_length(form);

	return len == OFFSET ? 4 : len == ADDRESS ? 8 : len;
}

/* DWARF 2 had address-sized ref_addr. */
static unsigned int ref_addr_size(const struct dwarf_unit *u)
{
	return u->version <= 2 ? u->address_size : u->offset_size;
}

static uint64_t block_length(struct dwarf_cursor *c, uint16_t form)
{
	switch (form) {
	case DW_FORM_block1:
		return dwarf_u8(c);
	case DW_FORM_block2:
		return dwarf_u16(c);
	case DW_FORM_block4:
		return dwarf_u32(c);
	default:
		return dwarf_uleb(c);
	}
}

static void skip_variable(const struct dwarf_unit *u, struct dwarf_cursor *c, uint16_t form)
{
	switch (form) {
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_sdata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		dwarf_uleb(c);
		break;
	case DW_FORM_string:
		dwarf_string(c);
		break;
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_block:
	case DW_FORM_exprloc:
		dwarf_skip(c, block_length(c, form));
		break;
	case DW_FORM_ref_addr:
		dwarf_skip(c, ref_addr_size(u));
		break;
	default:
		dwarf_fail(c);
	}
}

static uint16_t indirect_form(struct dwarf_cursor *c)
{
	uint64_t form = dwarf_uleb(c);

	if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || form > UINT16_MAX) {
		dwarf_fail(c);
		return DW_FORM_flag_present;
	}
	return (uint16_t)form;
}

void dwarf_form_skip(const struct dwarf_unit *u, struct dwarf_cursor *c, uint16_t form)
{
	int len;

	if (form == DW_FORM_indirect)
		form = indirect_form(c);
	len = fixed_length(form);
	if (len == OFFSET)
		len = u->offset_size;
	else if (len == ADDRESS)
		len = u->address_size;
	if (len >= 0)
		dwarf_skip(c, (uint64_t)len);
	else
		skip_variable(u, c, form);
}

static void read_variable(const struct dwarf_unit *u, struct dwarf_cursor *c, struct dwarf_value *out)
{
	switch (out->form) {
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		out->number = dwarf_uleb(c);
		break;
	case DW_FORM_sdata:
		out->number = (uint64_t)dwarf_sleb(c);
		break;
	case DW_FORM_string:
		out->string = dwarf_string(c);
		break;
	case DW_FORM_ref_addr:
		out->number = dwarf_fixed(c, ref_addr_size(u));
		break;
	default:
		skip_variable(u, c, out->form);
	}
}

void dwarf_form_read(const struct dwarf_unit *u, struct dwarf_cursor *c,
                     const struct dwarf_attribute *attribute, struct dwarf_value *out)
{
	int len;

	*out = (struct dwarf_value){ .form = attribute->form };
	if (out->form == DW_FORM_indirect)
		out->form = indirect_form(c);
	if (out->form == DW_FORM_implicit_const)
		out->number = (uint64_t)attribute->implicit;
	len = fixed_length(out->form);
	if (len == OFFSET)
		len = u->offset_size;
	else if (len == ADDRESS)
		len = u->address_size;
	if (len == NOT_FIXED)
		read_variable(u, c, out);
	else if (len > 8)
		dwarf_skip(c, (uint64_t)len);
	else if (len)
		out->number = dwarf_fixed(c, (unsigned int)len);
}

bool dwarf_form_is_address(uint16_t form)
{
	switch (form) {
	case DW_FORM_addr:
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return true;
	default:
		return false;
	}
}
