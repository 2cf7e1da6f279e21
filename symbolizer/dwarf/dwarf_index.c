/* Address lookups in one file's DWARF: finds the unit, then its frames, lines and function names. */

#include "symbolizer/dwarf/dwarf_index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbolizer/dwarf/dwarf_index_state.h"

#define MAX_INLINED 128

/* Units that may have one address. */
#define MAX_OVERLAPS 32

/* Offsets in .debug_info stay below this. */
#define DIE_SHIFT 40

/* --- which unit ------------------------------------------------------------------------------------- */

static int add_arange(uint64_t low, uint64_t high, uint64_t unit, void *context)
{
	struct dwarf_index *x = context;

	return low && elf_file_executable(x->file, low) ? dwarf_ranges_add(&x->aranges, low, high, unit) : 0;
}

static void read_aranges(struct dwarf_index *x)
{
	if (dwarf_aranges_each(x->info->aranges.data, x->info->aranges.len, add_arange, x))
		x->errors++;
	dwarf_ranges_sort(&x->aranges);
}

struct adding {
	struct dwarf_index *index;
	uint64_t unit;
};

static int add_range(uint64_t low, uint64_t high, void *context)
{
	struct adding *adding = context;
	struct dwarf_index *x = adding->index;

	return low && elf_file_executable(x->file, low)
	               ? dwarf_ranges_add(&x->ranges, low, high, adding->unit)
	               : 0;
}

static void read_ranges(struct dwarf_index *x)
{
	struct adding adding = { .index = x };
	const struct dwarf_unit *u;
	size_t i;

	if (x->ranges_read)
		return;
	x->ranges_read = true;
	dwarf_info_read_units(x->info);
	for (i = 0; i < x->info->n_units && !dwarf_info_is_overworked(x->info); i++) {
		u = &x->info->units[i];
		adding.unit = u->offset;
		if (dwarf_each_range(x->info, u, &u->root_low_pc, &u->root_high_pc, &u->root_ranges,
		                     add_range, &adding))
			x->errors++;
	}
	dwarf_ranges_sort(&x->ranges);
	elf_file_forget_pages(x->debug);
}

int dwarf_index_new(struct elf_file *f, struct elf_file *debug, struct elf_file *alt, size_t max_unit_bytes,
                    struct dwarf_split *split, struct dwarf_index **out)
{
	struct dwarf_index *x = calloc(1, sizeof(*x));
	int err;

	if (!x) {
		dwarf_split_free(split);
		return -ENOMEM;
	}
	x->split = split;
	x->file = f;
	x->debug = debug;
	x->max_unit_bytes = max_unit_bytes;
	err = dwarf_info_new(debug, &x->info);
	if (err) {
		dwarf_index_free(x);
		return err;
	}
	if (alt && !dwarf_info_new(alt, &x->alt)) {
		x->info->alt = x->alt;
		x->alt->payer = x->info;
	}
	read_aranges(x);
	*out = x;
	return 0;
}

void dwarf_index_free(struct dwarf_index *x)
{
	if (!x)
		return;
	dwarf_load_drop_all(x);
	dwarf_ranges_free(&x->aranges);
	dwarf_ranges_free(&x->ranges);
	free(x->skeletons);
	dwarf_split_free(x->split);
	dwarf_info_free(x->info);
	dwarf_info_free(x->alt);
	free(x);
}

/* --- lookups ---------------------------------------------------------------------------------------- */

/* Looks for a function in the unit that begins there. */
static bool locate_in_unit(struct dwarf_index *x, uint64_t unit, uint64_t address, struct dwarf_place *place)
{
	struct dwarf_unit *u = dwarf_unit_that_begins(x->info, unit);
	struct unit_index *ui = u ? dwarf_load_unit(x, u) : NULL;
	struct dwarf_scopes *scopes = ui ? ui->scopes : NULL;

	place->unit = ui;
	place->function = scopes ? dwarf_scopes_find(scopes, address, &place->same) : NULL;
	if (!place->function && scopes && scopes->has_unread) {
		scopes = dwarf_load_whole(x, ui);
		place->function = scopes ? dwarf_scopes_find(scopes, address, &place->same) : NULL;
	}
	place->scopes = scopes;
	if (place->function)
		dwarf_load_body(x, place);
	return place->function;
}

static bool has_line(const struct dwarf_place *place, uint64_t address)
{
	uint32_t file, line;

	return place->unit && place->unit->lines &&
	       dwarf_lines_find(place->unit->lines, address, &file, &line);
}

/* The first unit with a function there counts; else the first with a line. */
static bool locate_by(struct dwarf_index *x, const struct dwarf_ranges *ranges, uint64_t address,
                      struct dwarf_place *out)
{
	struct dwarf_place place = { .same = { 0, UINT64_MAX } };
	uint64_t units[MAX_OVERLAPS];
	size_t n = dwarf_ranges_find(ranges, address, &place.same, units, MAX_OVERLAPS), i;
	bool found = false;

	for (i = 0; i < n; i++) {
		if (locate_in_unit(x, units[i], address, &place)) {
			*out = place;
			return true;
		}
		if (!found && has_line(&place, address)) {
			found = true;
			*out = place;
		}
	}
	if (found)
		out->same = place.same;
	return found;
}

bool dwarf_index_locate(struct dwarf_index *x, uint64_t address, struct dwarf_place *out)
{
	bool was_overworked = dwarf_info_is_overworked(x->info);

	dwarf_load_trim(x);
	dwarf_info_rest(x->info);
	if (dwarf_info_is_overworked(x->info))
		return false;
	if (was_overworked)
		dwarf_load_drop_all(x); /* some may lack their lines */
	if (x->aranges.n && locate_by(x, &x->aranges, address, out))
		return true;
	read_ranges(x);
	return locate_by(x, &x->ranges, address, out);
}

/* A DIE as others know it: its offset, and of a split unit above that its skeleton's number. */
static uint64_t die_of(const struct unit_index *ui, uint64_t offset)
{
	return ui->split ? offset | (uint64_t)ui->in_file->number << DIE_SHIFT : offset;
}

/*
 * Turns the chain at one address round: the innermost frame stands at the row's line, every other one where
 * the next inner one was called.
 */
size_t dwarf_index_frames(const struct dwarf_place *place, uint64_t address, struct dwarf_frame *frames,
                          size_t max)
{
	const struct dwarf_inline *chain[MAX_INLINED];
	const struct dwarf_function *f = place->function;
	const struct dwarf_lines *lines = place->unit->lines;
	uint64_t steps = 0;
	size_t n = f ? dwarf_scopes_inlines(place->scopes, f, address, chain, MAX_INLINED, &steps) : 0, i;
	uint32_t file = 0, line = 0;
	bool known = lines && dwarf_lines_find(lines, address, &file, &line);

	dwarf_info_work(place->unit->info, steps);
	if (!f && !known)
		return 0;
	for (i = 0; i < n + 1 && i < max; i++) {
		const struct dwarf_inline *inlined = i < n ? chain[n - 1 - i] : NULL;

		frames[i] = (struct dwarf_frame){ .die = inlined ? die_of(place->unit, inlined->die)
			                                 : f     ? die_of(place->unit, f->die)
			                                         : 0,
			                          .inlined = inlined,
			                          .lines = known ? lines : NULL,
			                          .file = file,
			                          .line = line };
		if (!inlined)
			continue;
		known = lines;
		file = inlined->call_file;
		line = inlined->call_line;
	}
	return i;
}

int dwarf_index_each_change(struct dwarf_place *place, uint64_t address,
                            int (*each)(uint64_t address, void *context), void *context)
{
	const struct dwarf_function *f = place->function;
	const struct dwarf_inline *inlined;
	uint32_t i;
	int err = 0;

	if (place->unit->lines)
		err = dwarf_lines_each_row(place->unit->lines, address, &place->same, each, context);
	if (f)
		dwarf_info_work(place->unit->info, f->end_inline - f->first_inline);
	for (i = f ? f->first_inline : 0; f && !err && i < f->end_inline; i++) {
		inlined = &place->scopes->inlines[i];
		if (inlined->low > place->same.low && inlined->low < place->same.high)
			err = each(inlined->low, context);
		if (!err && inlined->high > place->same.low && inlined->high < place->same.high)
			err = each(inlined->high, context);
	}
	return err;
}

/* Where the DIE is that has the name, what is around it belongs to the name. NULL: not known, or nothing. */
static struct dwarf_scopes *scopes_around(struct dwarf_index *x, const struct dwarf_name *name)
{
	const struct dwarf_unit *skeleton = name->info->skeleton;
	struct dwarf_unit *u = dwarf_unit_at(name->info, name->die);
	struct unit_index *ui;

	if (!u || dwarf_unit_is_c(u) || (name->info != x->info && !skeleton))
		return NULL;
	ui = dwarf_load_unit(x, skeleton ? x->skeletons[skeleton->number - 1] : u);
	return ui && ui->unit == u ? dwarf_load_whole(x, ui) : NULL;
}

/* The file that a DIE is in, and its offset there. NULL: it is not to be had any more. */
static struct dwarf_info *info_of_die(struct dwarf_index *x, uint64_t *die)
{
	uint64_t number = *die >> DIE_SHIFT;
	struct unit_index *ui;

	if (!number)
		return x->info;
	*die &= ((uint64_t)1 << DIE_SHIFT) - 1;
	ui = number <= x->n_skeletons ? dwarf_load_unit(x, x->skeletons[number - 1]) : NULL;
	return ui && ui->split ? ui->info : NULL;
}

bool dwarf_index_name(struct dwarf_index *x, uint64_t die, char *out, size_t size)
{
	struct dwarf_name name = { 0 };
	struct dwarf_info *info = info_of_die(x, &die);
	struct dwarf_scopes *scopes = NULL;

	if (info && die)
		name = dwarf_function_name(info, die);
	if (!name.name)
		return false;
	if (!name.is_mangled)
		scopes = scopes_around(x, &name);
	if (scopes && scopes->n_enclosing)
		dwarf_scopes_qualify(scopes, name.die, name.name, out, size);
	else
		snprintf(out, size, "%s", name.name);
	return true;
}

bool dwarf_index_lacks_linkage_name(struct dwarf_index *x, uint64_t die)
{
	struct dwarf_info *info = info_of_die(x, &die);
	const struct dwarf_unit *u = info && die ? dwarf_unit_at(info, die) : NULL;

	return u && dwarf_unit_is_cxx(u) && !dwarf_function_name(info, die).is_mangled;
}

bool dwarf_index_move(struct dwarf_index *x, const struct debug_file_place *place)
{
	return x->split && dwarf_split_move(x->split, place);
}

bool dwarf_index_is_split(const struct dwarf_index *x)
{
	return x->n_skeletons;
}

bool dwarf_index_is_partial(const struct dwarf_index *x)
{
	return x->is_partial || x->info->refused || (x->alt && x->alt->refused);
}

bool dwarf_index_has_lines(const struct dwarf_index *x)
{
	return x->info->line.len;
}

size_t dwarf_index_memory(const struct dwarf_index *x)
{
	return sizeof(*x) + x->memory + (x->split ? dwarf_split_memory(x->split) : 0) +
	       (x->aranges.max + x->ranges.max) * sizeof(*x->ranges.ranges) + x->info->memory +
	       x->info->abbrev_memory + (x->alt ? x->alt->memory + x->alt->abbrev_memory : 0);
}

uint64_t dwarf_index_errors(const struct dwarf_index *x)
{
	return x->errors + x->info->errors;
}
