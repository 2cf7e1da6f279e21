#include "symbolizer/dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "symbolizer/dwarf_form.h"

#define MAX_UNITS (1 << 22)

static void load_section(struct elf_file *f, const char *name, struct dwarf_section *out)
{
	struct elf_section section;

	if (elf_file_section(f, name, &section))
		return;
	out->data = section.data;
	out->len = section.len;
}

static void load_sections(struct elf_file *f, struct dwarf_info *d)
{
	load_section(f, ".debug_info", &d->info);
	load_section(f, ".debug_abbrev", &d->abbrev);
	load_section(f, ".debug_str", &d->str);
	load_section(f, ".debug_line_str", &d->line_str);
	load_section(f, ".debug_str_offsets", &d->str_offsets);
	load_section(f, ".debug_addr", &d->addr);
	load_section(f, ".debug_ranges", &d->ranges);
	load_section(f, ".debug_rnglists", &d->rnglists);
	load_section(f, ".debug_line", &d->line);
}

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

static struct dwarf_value *slot_of(struct dwarf_die *die, uint16_t name)
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

/* Marks the abbreviations whose DIEs can be passed over at once. */
static void mark_abbrevs(struct dwarf_abbrevs *abbrevs)
{
	struct dwarf_abbrev *a;
	uint32_t i;
	int len, sum;
	size_t n;

	for (n = 0; n < abbrevs->n_entries; n++) {
		a = &abbrevs->entries[n];
		a->is_wanted = has_what_we_want(a->tag);
		for (i = 0, sum = 0; i < a->n_attributes && sum >= 0; i++) {
			len = dwarf_form_usual_length(abbrevs->attributes[a->first + i].form);
			sum = len < 0 || sum + len >= UINT16_MAX ? -1 : sum + len;
		}
		a->fixed_length = sum < 0 ? UINT16_MAX : (uint16_t)sum;
	}
}

static void read_attributes(const struct dwarf_unit *u, const struct dwarf_abbrevs *abbrevs,
                            struct dwarf_cursor *c, struct dwarf_die *die)
{
	const struct dwarf_abbrev *abbrev = die->abbrev;
	const struct dwarf_attribute *a;
	struct dwarf_value *slot;
	uint32_t i;

	if (!abbrev->is_wanted && !abbrev->has_children && abbrev->fixed_length != UINT16_MAX &&
	    u->address_size == 8 && u->offset_size == 4) {
		dwarf_skip(c, abbrev->fixed_length);
		return;
	}
	for (i = 0; i < abbrev->n_attributes; i++) {
		a = &abbrevs->attributes[abbrev->first + i];
		slot = abbrev->is_wanted || a->name == DW_AT_sibling ? slot_of(die, a->name) : NULL;
		if (slot)
			dwarf_form_read(u, c, a, slot);
		else
			dwarf_form_skip(u, c, a->form);
	}
}

static int read_die_with(const struct dwarf_info *d, const struct dwarf_unit *u,
                         const struct dwarf_abbrevs *abbrevs, struct dwarf_cursor *c, struct dwarf_die *out)
{
	const struct dwarf_abbrev *abbrev;
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
	return c->failed ? -EBADMSG : 1;
}

int dwarf_read_die(const struct dwarf_info *d, const struct dwarf_unit *u, struct dwarf_cursor *c,
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

/* Reads no more abbreviations than the root needs. */
static int read_root(struct dwarf_info *d, struct dwarf_unit *u)
{
	struct dwarf_cursor c = dwarf_unit_cursor(d, u, u->first_die), peek = c;
	struct dwarf_abbrevs *abbrevs;
	struct dwarf_die root;
	uint64_t code = dwarf_uleb(&peek);
	int got;

	if (peek.failed || !code)
		return peek.failed ? -EBADMSG : 0;
	got = dwarf_abbrevs_read(d->abbrev.data, d->abbrev.len, u->abbrev_offset, code, &abbrevs);
	if (got)
		return got;
	got = read_die_with(d, u, abbrevs, &c, &root);
	if (got == 1)
		keep_root(d, u, &root);
	dwarf_abbrevs_free(abbrevs);
	return got < 0 ? got : 0;
}

static struct dwarf_unit *add_unit(struct dwarf_info *d)
{
	struct dwarf_unit *bigger;
	size_t n = d->n_units;

	if (n >= MAX_UNITS)
		return NULL;
	if (!(n & (n - 1)) && (!n || n >= 16)) {
		bigger = realloc(d->units, (n ? n * 2 : 16) * sizeof(*d->units));
		if (!bigger)
			return NULL;
		d->units = bigger;
	}
	return &d->units[n];
}

static void read_units(struct dwarf_info *d)
{
	struct dwarf_cursor c = dwarf_cursor_at(d->info.data, d->info.len, 0);
	struct dwarf_unit *u;
	int err;

	while (dwarf_left(&c) && (u = add_unit(d))) {
		err = read_header(d, &c, u);
		if (err)
			d->errors++;
		if (err == -ENOTSUP)
			continue;
		if (err)
			return;
		u->index = (uint32_t)d->n_units++;
		if (read_root(d, u))
			d->errors++;
	}
}

static int new_info(const struct dwarf_info *sections, struct dwarf_info **out)
{
	struct dwarf_info *d;

	if (!sections->info.len || !sections->abbrev.len)
		return -ENOENT;
	d = malloc(sizeof(*d));
	if (!d)
		return -ENOMEM;
	*d = *sections;
	read_units(d);
	d->memory = sizeof(*d) + d->n_units * sizeof(*d->units);
	*out = d;
	return 0;
}

int dwarf_info_new(struct elf_file *f, struct dwarf_info **out)
{
	struct dwarf_info sections = { 0 };

	load_sections(f, &sections);
	return new_info(&sections, out);
}

int dwarf_info_new_split(const struct dwarf_info *sections, const struct dwarf_unit *skeleton,
                         struct dwarf_info **out)
{
	struct dwarf_info split = *sections;

	split.skeleton = skeleton;
	return new_info(&split, out);
}

void dwarf_info_free(struct dwarf_info *d)
{
	size_t i;

	if (!d)
		return;
	for (i = 0; i < d->n_abbrev_tables; i++)
		dwarf_abbrevs_free(d->abbrev_tables[i]);
	free(d->abbrev_tables);
	address_map_clear(&d->abbrev_by_offset);
	free(d->units);
	free(d);
}

struct dwarf_unit *dwarf_unit_at(struct dwarf_info *d, uint64_t offset)
{
	size_t low = 0, high = d->n_units, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (offset >= d->units[mid].end)
			low = mid + 1;
		else if (offset < d->units[mid].offset)
			high = mid;
		else
			return &d->units[mid];
	}
	return NULL;
}

bool dwarf_unit_is_c(const struct dwarf_unit *u)
{
	return u->language == DW_LANG_C99 || u->language == DW_LANG_C11 || u->language == DW_LANG_C89;
}

static int add_abbrevs(struct dwarf_info *d, struct dwarf_abbrevs *abbrevs, uint64_t offset)
{
	struct dwarf_abbrevs **bigger;
	size_t n = d->n_abbrev_tables;

	if (!(n & (n - 1)) && (!n || n >= 16)) {
		bigger = realloc(d->abbrev_tables, (n ? n * 2 : 16) * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		d->abbrev_tables = bigger;
	}
	d->abbrev_tables[d->n_abbrev_tables++] = abbrevs;
	d->memory += dwarf_abbrevs_memory(abbrevs);
	return address_map_put(&d->abbrev_by_offset, offset, (uint32_t)n, MAX_UNITS);
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
	err = dwarf_abbrevs_read(d->abbrev.data, d->abbrev.len, u->abbrev_offset, 0, &abbrevs);
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
