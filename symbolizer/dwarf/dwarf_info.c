/* Reads and keeps the units of one file: single ones by offset, or all of them. */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/dwarf/dwarf_unit.h"
#include "symbolizer/base/search.h"

#define MAX_UNITS (1 << 22)

/*
 * So much work may be done for one file: a second or two of CPU. To find its units, libc takes 600,000 steps, in
 * proportion a browser some 40 million; the largest unit met (CPython's) takes 200,000.
 */
#define MAX_WORK ((uint64_t)1 << 28)

/*
 * What each lookup pays back: that of an ordinary one, and what it takes to run all of the file's line programs once, as one
 * unit may have them all (unity builds, Rust's codegen-units=1) and may have been dropped since. That takes 50 ms at most.
 */
#define LOOKUP_WORK    ((uint64_t)1 << 20)
#define MAX_LINES_WORK ((uint64_t)1 << 24)

/* The pages of a mapped file are given back after each so many units: some 16 around each have come in. */
#define UNITS_TO_FORGET 256

/* What it takes to go on to the next .debug_info, beside reading this one. */
#define SECTION_WORK 64

int dwarf_section_load(struct elf_file *f, const char *name, struct dwarf_section *out)
{
	struct elf_section section;
	int err = elf_file_section(f, name, &section);

	if (!err)
		*out = (struct dwarf_section){ .data = section.data, .len = section.len };
	return err == -ENOENT ? 0 : err;
}

static bool begins_with_types(const struct elf_section *s)
{
	struct dwarf_cursor c = dwarf_cursor_at(s->data, s->len, 0);
	uint8_t offset_size, type;

	dwarf_initial_length(&c, &offset_size);
	if (dwarf_u16(&c) != 5)
		return false;
	type = dwarf_u8(&c);
	return !c.failed && (type == DW_UT_type || type == DW_UT_split_type);
}

int dwarf_info_load(struct dwarf_info *d, struct elf_file *f, const char *name)
{
	struct elf_section section, next;
	int err = elf_file_section(f, name, &section);

	while (!err && begins_with_types(&section) && dwarf_info_work(d, section.len / 8 + SECTION_WORK) &&
	       !elf_file_section_after(f, name, section.index, &next)) {
		elf_file_release(f, section.index);
		section = next;
	}
	if (!err)
		d->info = (struct dwarf_section){ .data = section.data, .len = section.len };
	return err == -ENOENT ? 0 : err;
}

static void load_section(struct elf_file *f, struct dwarf_info *d, const char *name,
                         struct dwarf_section *out)
{
	int err = dwarf_section_load(f, name, out);

	if (err)
		d->refused = err;
}

static void load_sections(struct elf_file *f, struct dwarf_info *d)
{
	int err = dwarf_info_load(d, f, ".debug_info");

	if (err)
		d->refused = err;
	load_section(f, d, ".debug_abbrev", &d->abbrev);
	load_section(f, d, ".debug_str", &d->str);
	load_section(f, d, ".debug_line_str", &d->line_str);
	load_section(f, d, ".debug_str_offsets", &d->str_offsets);
	load_section(f, d, ".debug_addr", &d->addr);
	load_section(f, d, ".debug_ranges", &d->ranges);
	load_section(f, d, ".debug_rnglists", &d->rnglists);
	load_section(f, d, ".debug_line", &d->line);
	load_section(f, d, ".debug_aranges", &d->aranges);
}

bool dwarf_info_work(struct dwarf_info *d, uint64_t steps)
{
	struct dwarf_info *payer = d->payer ? d->payer : d;

	if (payer->overworked)
		return false;
	payer->work += steps;
	if (payer->work <= MAX_WORK)
		return true;
	payer->overworked = true;
	payer->errors += payer->refused != -EFBIG;
	payer->refused = -EFBIG;
	return false;
}

bool dwarf_info_is_overworked(const struct dwarf_info *d)
{
	return d->payer ? d->payer->overworked : d->overworked;
}

void dwarf_info_rest(struct dwarf_info *d)
{
	uint64_t lines = dwarf_lines_work(d->line.len), paid;

	paid = LOOKUP_WORK + (lines < MAX_LINES_WORK ? lines : MAX_LINES_WORK);
	d->work -= d->work < paid ? d->work : paid;
	if (d->work <= MAX_WORK / 2)
		d->overworked = false;
}

/* What was kept for one unit after the other. */
static void forget_root_abbrevs(struct dwarf_info *d)
{
	dwarf_abbrevs_free(d->root_abbrevs);
	d->root_abbrevs = NULL;
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

void dwarf_info_read_units(struct dwarf_info *d)
{
	struct dwarf_cursor c = dwarf_cursor_at(d->info.data, d->info.len, 0);
	struct dwarf_unit *u;
	int err;

	if (d->units_read)
		return;
	d->units_read = true;
	while (dwarf_left(&c) && !dwarf_info_is_overworked(d) && (u = add_unit(d))) {
		err = dwarf_unit_read(d, &c, u);
		if (err)
			d->errors++;
		if (err && err != -ENOTSUP)
			break;
		d->n_units += !err;
		if (d->file && d->n_units % UNITS_TO_FORGET == 0)
			elf_file_forget_pages(d->file);
	}
	forget_root_abbrevs(d);
	d->memory += d->n_units * sizeof(*d->units);
}

static int new_info(const struct dwarf_info *sections, struct dwarf_info **out)
{
	struct dwarf_info *d;

	if (!sections->info.len || !sections->abbrev.len)
		return sections->refused ? sections->refused : -ENOENT;
	d = malloc(sizeof(*d));
	if (!d)
		return -ENOMEM;
	*d = *sections;
	d->memory = sizeof(*d);
	*out = d;
	return 0;
}

int dwarf_info_new(struct elf_file *f, struct dwarf_info **out)
{
	struct dwarf_info sections = { .file = f };

	load_sections(f, &sections);
	return new_info(&sections, out);
}

int dwarf_info_new_split(const struct dwarf_info *sections, const struct dwarf_unit *skeleton,
                         struct dwarf_info **out)
{
	struct dwarf_info split = *sections;
	int err;

	split.skeleton = skeleton;
	err = new_info(&split, out);
	if (!err)
		dwarf_info_read_units(*out);
	return err;
}

void dwarf_info_forget_abbrevs(struct dwarf_info *d)
{
	size_t i;

	for (i = 0; i < d->n_abbrev_tables; i++)
		dwarf_abbrevs_free(d->abbrev_tables[i]);
	free(d->abbrev_tables);
	d->abbrev_tables = NULL;
	d->n_abbrev_tables = d->abbrev_memory = 0;
	address_map_clear(&d->abbrev_by_offset);
	for (i = 0; i < d->n_units; i++)
		d->units[i].abbrevs = NULL;
	for (i = 0; i < d->n_lone; i++)
		d->lone[i]->abbrevs = NULL;
}

void dwarf_info_free(struct dwarf_info *d)
{
	size_t i;

	if (!d)
		return;
	dwarf_info_forget_abbrevs(d);
	forget_root_abbrevs(d);
	for (i = 0; i < d->n_lone; i++)
		free(d->lone[i]);
	free(d->lone);
	free(d->units);
	free(d);
}

/* Index of the first lone unit that ends above the offset. */
static size_t first_above(const struct dwarf_info *d, uint64_t offset)
{
	return search_past(i, 0, d->n_lone, offset >= d->lone[i]->end);
}

static struct dwarf_unit *add_lone(struct dwarf_info *d, size_t at, const struct dwarf_unit *u)
{
	struct dwarf_unit *copy = malloc(sizeof(*copy)), **bigger = d->lone;
	size_t n = d->n_lone;

	if (!(n & (n - 1)) && (!n || n >= 16))
		bigger = realloc(d->lone, (n ? n * 2 : 16) * sizeof(struct dwarf_unit *));
	if (bigger)
		d->lone = bigger;
	if (!copy || !bigger) {
		free(copy);
		return NULL;
	}
	*copy = *u;
	memmove(d->lone + at + 1, d->lone + at, (n - at) * sizeof(struct dwarf_unit *));
	d->lone[at] = copy;
	d->n_lone++;
	d->memory += sizeof(*copy);
	return copy;
}

struct dwarf_unit *dwarf_unit_that_begins(struct dwarf_info *d, uint64_t offset)
{
	struct dwarf_cursor c = dwarf_cursor_at(d->info.data, d->info.len, offset);
	size_t at = first_above(d, offset);
	struct dwarf_unit u, *found;
	int err;

	if (d->units_read) {
		found = dwarf_unit_at(d, offset);
		return found && found->offset == offset ? found : NULL;
	}
	if (at < d->n_lone && offset >= d->lone[at]->offset)
		return d->lone[at]->offset == offset ? d->lone[at] : NULL;
	if (d->n_lone >= MAX_UNITS)
		return NULL;
	err = dwarf_unit_read(d, &c, &u);
	forget_root_abbrevs(d);
	if (err || (at < d->n_lone && u.end > d->lone[at]->offset))
		return NULL;
	return add_lone(d, at, &u);
}

struct dwarf_unit *dwarf_unit_at(struct dwarf_info *d, uint64_t offset)
{
	size_t low = first_above(d, offset);

	if (low < d->n_lone && offset >= d->lone[low]->offset)
		return d->lone[low];
	dwarf_info_read_units(d);
	low = search_past(i, 0, d->n_units, offset >= d->units[i].end);
	return low < d->n_units && offset >= d->units[low].offset ? &d->units[low] : NULL;
}
