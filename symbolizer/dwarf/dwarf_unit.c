/* Reads unit headers and DIEs of .debug_info. */

#include "symbolizer/dwarf/dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "symbolizer/dwarf/dwarf_form.h"

#define MAX_ABBREV_TABLES (1 << 22)

/* No more tables are read over this, until they are forgotten: those of all of libc have 7 MB. */
#define MAX_ABBREV_MEMORY ((size_t)64 << 20)

/* DIEs with so many attributes more than bytes are no compiler's. */
#define FREE_ATTRIBUTES 16

/* Reads the header at c->pos and leaves the cursor behind the whole unit. */
static int read_header(const struct dwarf_info *d, struct dwarf_cursor *c, struct dwarf_unit *u)
{
	uint8_t type = DW_UT_compile;
	uint64_t len;

	*u = (struct dwarf_unit){ .offset = (uint64_t)(c->pos - d->info.data), .stmt_list = UINT64_MAX };
	len = dwarf_initial_length(c, &u->offset_size);
	u->end = (uint64_t)(c->pos - d->info.data) + len;
	u->version = dwarf_u16(c);
	if (u->version >= 5) {
		type = dwarf_u8(c);
		u->address_size = dwarf_u8(c);
		u->abbrev_offset = dwarf_fixed(c, u->offset_size);
	} else {
		u->abbrev_offset = dwarf_fixed(c, u->offset_size);
		u->address_size = dwarf_u8(c);
	}
	if (type == DW_UT_skeleton || type == DW_UT_split_compile)
		u->dwo_id = dwarf_u64(c);
	else if (type == DW_UT_type || type == DW_UT_split_type)
		dwarf_skip(c, 8 + u->offset_size);
	u->first_die = (uint64_t)(c->pos - d->info.data);
	if (c->failed || u->first_die > u->end)
		return -EBADMSG;
	*c = dwarf_cursor_at(d->info.data, d->info.len, u->end);
	if (u->version < 2 || u->version > 5 || (u->address_size != 8 && u->address_size != 4))
		return -ENOTSUP;
	return 0;
}

struct dwarf_cursor dwarf_unit_cursor(const struct dwarf_info *d, const struct dwarf_unit *u, uint64_t offset)
{
	if (offset < u->first_die || offset >= u->end)
		return (struct dwarf_cursor){ .failed = true };
	return dwarf_cursor_at(d->info.data, u->end, offset);
}

static struct dwarf_value *bucket_of(struct dwarf_die *die, uint16_t name)
{
	switch (name) {
	case DW_AT_name:
		return &die->name;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return &die->linkage_name;
	case DW_AT_low_pc:
		return &die->low_pc;
	case DW_AT_high_pc:
		return &die->high_pc;
	case DW_AT_ranges:
		return &die->ranges;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		return &die->origin;
	case DW_AT_sibling:
		return &die->sibling;
	case DW_AT_call_file:
		return &die->call_file;
	case DW_AT_call_line:
		return &die->call_line;
	case DW_AT_stmt_list:
		return &die->stmt_list;
	case DW_AT_comp_dir:
		return &die->comp_dir;
	case DW_AT_str_offsets_base:
		return &die->str_offsets_base;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		return &die->addr_base;
	case DW_AT_rnglists_base:
		return &die->rnglists_base;
	case DW_AT_GNU_ranges_base:
		return &die->ranges_base;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		return &die->dwo_name;
	case DW_AT_GNU_dwo_id:
		return &die->dwo_id;
	case DW_AT_language:
		return &die->language;
	default:
		return NULL;
	}
}

/* Of any other DIE only the sibling is read. */
static bool has_what_we_want(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_skeleton_unit:
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_entry_point:
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

/* Of what is not read itself, that in which there may be functions or what was inlined. */
static bool may_hold_code(uint16_t tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block ||
	       tag == DW_TAG_module;
}

static bool is_structure(uint16_t tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_class_type;
}

/* How long DIEs are, where that is always the same, and where their sibling stands. */
static void measure(const struct dwarf_abbrevs *abbrevs, struct dwarf_abbrev *a)
{
	const struct dwarf_attribute *attribute;
	int len, sum = 0;
	uint32_t i;

	for (i = 0; i < a->n_attributes && sum >= 0; i++) {
		attribute = &abbrevs->attributes[a->first + i];
		if (attribute->name == DW_AT_sibling && attribute->form == DW_FORM_ref4)
			a->sibling_at = (uint16_t)sum;
		len = dwarf_form_usual_length(attribute->form);
		sum = len < 0 || sum + len >= UINT16_MAX ? -1 : sum + len;
	}
	a->fixed_length = sum < 0 ? UINT16_MAX : (uint16_t)sum;
}

/* Marks the abbreviations whose DIEs can be passed over at once. */
static void mark_abbrevs(struct dwarf_abbrevs *abbrevs)
{
	struct dwarf_abbrev *a;
	bool has_way_out;
	size_t n;

	for (n = 0; n < abbrevs->n_entries; n++) {
		a = &abbrevs->entries[n];
		measure(abbrevs, a);
		/* Enumerations with functions in them do not say where they end. */
		a->is_wanted = has_what_we_want(a->tag) || (a->tag == DW_TAG_enumeration_type &&
		                                            a->has_children && a->sibling_at == UINT16_MAX);
		has_way_out = (a->has_children ? a->sibling_at : a->fixed_length) != UINT16_MAX;
		a->is_unneeded = has_way_out && !a->is_wanted && !may_hold_code(a->tag);
		a->is_unneeded_in_c = a->is_unneeded || (has_way_out && is_structure(a->tag));
	}
}

/* From behind the code of an unneeded DIE to behind all of it. False: the DIE does not say where that is. */
static bool pass(const struct dwarf_info *d, const struct dwarf_unit *u, const struct dwarf_abbrev *abbrev,
                 struct dwarf_cursor *c)
{
	struct dwarf_cursor to = *c;
	uint64_t sibling;

	if (!abbrev->has_children) {
		dwarf_skip(&to, abbrev->fixed_length);
	} else {
		dwarf_skip(&to, abbrev->sibling_at);
		sibling = u->offset + dwarf_u32(&to);
		if (to.failed || sibling <= (uint64_t)(to.pos - d->info.data) || sibling > u->end)
			return false;
		to.pos = d->info.data + sibling;
	}
	if (!to.failed)
		*c = to;
	return !to.failed;
}

void dwarf_skip_unneeded(const struct dwarf_info *d, const struct dwarf_unit *u, struct dwarf_cursor *c)
{
	bool is_c = dwarf_unit_is_c(u);
	const struct dwarf_abbrev *abbrev;
	struct dwarf_cursor next;
	uint64_t code;

	if (u->address_size != 8 || u->offset_size != 4)
		return;
	while (dwarf_left(c)) {
		next = *c;
		code = dwarf_uleb(&next);
		abbrev = code ? dwarf_abbrevs_find(u->abbrevs, code) : NULL;
		if (!abbrev || !(is_c ? abbrev->is_unneeded_in_c : abbrev->is_unneeded) ||
		    !pass(d, u, abbrev, &next))
			return;
		*c = next;
	}
}

static void read_attributes(const struct dwarf_unit *u, const struct dwarf_abbrevs *abbrevs,
                            struct dwarf_cursor *c, struct dwarf_die *die)
{
	const struct dwarf_abbrev *abbrev = die->abbrev;
	const struct dwarf_attribute *a;
	struct dwarf_value *bucket;
	uint32_t i;

	if (!abbrev->is_wanted && !abbrev->has_children && abbrev->fixed_length != UINT16_MAX &&
	    u->address_size == 8 && u->offset_size == 4) {
		dwarf_skip(c, abbrev->fixed_length);
		return;
	}
	for (i = 0; i < abbrev->n_attributes; i++) {
		a = &abbrevs->attributes[abbrev->first + i];
		bucket = abbrev->is_wanted || a->name == DW_AT_sibling ? bucket_of(die, a->name) : NULL;
		if (bucket)
			dwarf_form_read(u, c, a, bucket);
		else
			dwarf_form_skip(u, c, a->form);
	}
}

static int read_die_with(struct dwarf_info *d, const struct dwarf_unit *u,
                         const struct dwarf_abbrevs *abbrevs, struct dwarf_cursor *c, struct dwarf_die *out)
{
	const struct dwarf_abbrev *abbrev;
	const uint8_t *began = c->pos;
	uint64_t offset, code;

	if (c->failed || !abbrevs)
		return -EBADMSG;
	offset = (uint64_t)(c->pos - d->info.data);
	code = dwarf_uleb(c);
	if (c->failed)
		return -EBADMSG;
	abbrev = code ? dwarf_abbrevs_find(abbrevs, code) : NULL;
	if (abbrev && abbrev->is_wanted)
		*out = (struct dwarf_die){ 0 };
	out->sibling = (struct dwarf_value){ 0 };
	out->offset = offset;
	out->abbrev = abbrev;
	if (!code)
		return 0;
	if (!abbrev)
		return -EBADMSG;
	read_attributes(u, abbrevs, c, out);
	if (c->failed)
		return -EBADMSG;
	if (abbrev->n_attributes > (size_t)(c->pos - began) + FREE_ATTRIBUTES &&
	    !dwarf_info_work(d, abbrev->n_attributes))
		return -EFBIG;
	return 1;
}

int dwarf_read_die(struct dwarf_info *d, const struct dwarf_unit *u, struct dwarf_cursor *c,
                   struct dwarf_die *out)
{
	return read_die_with(d, u, u->abbrevs, c, out);
}

/* Where the first entries of the tables are that a split unit's root does not tell of: behind their headers. */
static void set_split_bases(const struct dwarf_info *d, struct dwarf_unit *u)
{
	bool is_wide = u->offset_size == 8;

	u->addr_base = d->skeleton->addr_base;
	u->low_pc = d->skeleton->low_pc;
	u->ranges_base = d->skeleton->dwo_ranges_base;
	if (u->version < 5)
		return;
	u->str_offsets_base = is_wide ? 16 : 8;
	u->rnglists_base = is_wide ? 20 : 12;
}

static void keep_root(struct dwarf_info *d, struct dwarf_unit *u, const struct dwarf_die *root)
{
	if (d->skeleton)
		set_split_bases(d, u);
	if (root->str_offsets_base.form)
		u->str_offsets_base = root->str_offsets_base.number;
	if (root->addr_base.form)
		u->addr_base = root->addr_base.number;
	if (root->rnglists_base.form)
		u->rnglists_base = root->rnglists_base.number;
	u->dwo_ranges_base = root->ranges_base.number;
	if (root->dwo_id.form)
		u->dwo_id = root->dwo_id.number;
	u->stmt_list = root->stmt_list.form ? root->stmt_list.number : UINT64_MAX;
	u->language = (uint16_t)root->language.number;
	u->root_low_pc = root->low_pc;
	u->root_high_pc = root->high_pc;
	u->root_ranges = root->ranges;
	u->name = dwarf_value_string(d, u, &root->name);
	u->comp_dir = dwarf_value_string(d, u, &root->comp_dir);
	u->dwo_name = d->skeleton ? NULL : dwarf_value_string(d, u, &root->dwo_name);
	dwarf_value_address(d, u, &root->low_pc, &u->low_pc);
}

static int read_abbrevs(struct dwarf_info *d, uint64_t offset, uint64_t only_code, struct dwarf_abbrevs **out)
{
	uint64_t n_read;
	int err;

	if (dwarf_info_is_overworked(d))
		return -EFBIG;
	err = dwarf_abbrevs_read(d->abbrev.data, d->abbrev.len, offset, only_code, out, &n_read);
	dwarf_info_work(d, n_read);
	return err;
}

/* No more of them than the root needs, once for units in a row that share a table, as those of types do. */
static int read_root_abbrevs(struct dwarf_info *d, const struct dwarf_unit *u, uint64_t code)
{
	struct dwarf_abbrevs *abbrevs;
	int err;

	if (d->root_abbrevs && d->root_abbrevs_at == u->abbrev_offset &&
	    dwarf_abbrevs_find(d->root_abbrevs, code))
		return 0;
	err = read_abbrevs(d, u->abbrev_offset, code, &abbrevs);
	if (err)
		return err;
	dwarf_abbrevs_free(d->root_abbrevs);
	d->root_abbrevs = abbrevs;
	d->root_abbrevs_at = u->abbrev_offset;
	return 0;
}

static int read_root(struct dwarf_info *d, struct dwarf_unit *u)
{
	struct dwarf_cursor c = dwarf_unit_cursor(d, u, u->first_die), peek = c;
	struct dwarf_die root;
	uint64_t code = dwarf_uleb(&peek);
	int got;

	if (peek.failed || !code)
		return peek.failed ? -EBADMSG : 0;
	got = read_root_abbrevs(d, u, code);
	if (got)
		return got;
	got = read_die_with(d, u, d->root_abbrevs, &c, &root);
	if (got == 1)
		keep_root(d, u, &root);
	return got < 0 ? got : 0;
}

int dwarf_unit_read(struct dwarf_info *d, struct dwarf_cursor *c, struct dwarf_unit *out)
{
	int err = read_header(d, c, out);

	if (!err && read_root(d, out))
		d->errors++;
	return err;
}

bool dwarf_unit_is_c(const struct dwarf_unit *u)
{
	return u->language == DW_LANG_C99 || u->language == DW_LANG_C11 || u->language == DW_LANG_C89;
}

bool dwarf_unit_is_cxx(const struct dwarf_unit *u)
{
	/* Those of the last two came after DWARF 5 (dwarfstd.org/languages.html). */
	enum { DW_LANG_CXX17 = 0x2a, DW_LANG_CXX20 = 0x2b };

	return u->language == DW_LANG_C_plus_plus || u->language == DW_LANG_C_plus_plus_03 ||
	       u->language == DW_LANG_C_plus_plus_11 || u->language == DW_LANG_C_plus_plus_14 ||
	       u->language == DW_LANG_CXX17 || u->language == DW_LANG_CXX20;
}

bool dwarf_unit_is_rust(const struct dwarf_unit *u)
{
	return u->language == DW_LANG_Rust;
}

/* -ENOMEM: `abbrevs` is still the caller's; after -ENOSPC it is kept, but not found again. */
static int add_abbrevs(struct dwarf_info *d, struct dwarf_abbrevs *abbrevs, uint64_t offset)
{
	struct dwarf_abbrevs **bigger;
	size_t n = d->n_abbrev_tables;
	int err;

	if (!(n & (n - 1)) && (!n || n >= 16)) {
		bigger = realloc(d->abbrev_tables, (n ? n * 2 : 16) * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		d->abbrev_tables = bigger;
	}
	err = address_map_put(&d->abbrev_by_offset, offset, (uint32_t)n, MAX_ABBREV_TABLES);
	if (err == -ENOMEM)
		return err;
	d->abbrev_tables[d->n_abbrev_tables++] = abbrevs;
	d->abbrev_memory += dwarf_abbrevs_memory(abbrevs);
	return err;
}

int dwarf_unit_prepare(struct dwarf_info *d, struct dwarf_unit *u)
{
	struct dwarf_abbrevs *abbrevs;
	uint32_t known;
	int err;

	if (u->abbrevs)
		return 0;
	if (address_map_get(&d->abbrev_by_offset, u->abbrev_offset, &known)) {
		u->abbrevs = d->abbrev_tables[known];
		return 0;
	}
	if (d->abbrev_memory > MAX_ABBREV_MEMORY) {
		d->errors += !d->refused;
		d->refused = -EFBIG;
		return -EFBIG;
	}
	err = read_abbrevs(d, u->abbrev_offset, 0, &abbrevs);
	if (err)
		return err;
	mark_abbrevs(abbrevs);
	err = add_abbrevs(d, abbrevs, u->abbrev_offset);
	if (err == -ENOMEM) {
		dwarf_abbrevs_free(abbrevs);
		return err;
	}
	u->abbrevs = abbrevs;
	return 0;
}
