#include "symbolizer/dwarf_index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/dwarf_range_table.h"

#define MAX_INLINED 128

/* Units that are loaded at once. */
#define MAX_LOADED 1024

#define LOADING 1
#define BODY    2
#define MISSING 4

/* Offsets in .debug_info stay below this. */
#define DIE_SHIFT 40

/* The pages of a mapped file are given back after each so many bytes of units. */
#define BYTES_TO_FORGET ((uint64_t)8 << 20)

/* How many ranges a lookup goes back for one that overlaps those after it. */
#define MAX_OVERLAPS 32

/* What has been read of one unit. */
struct unit_index {
	struct dwarf_split_unit *split; /* NULL: it is none, or its split unit is missing */
	struct dwarf_info *info;        /* where its functions are: the split unit's, or the index's */
	struct dwarf_unit *unit;        /* of that `info` */
	struct dwarf_scopes *scopes;
	struct dwarf_scopes *whole; /* with what is inside functions; NULL: not needed yet. May be `scopes` */
	struct dwarf_lines *lines;
	size_t memory;
};

struct dwarf_index {
	struct elf_file *file, *debug;
	struct dwarf_info *info, *alt;
	struct dwarf_range_table ranges;
	struct unit_index **units; /* one for each of info->units; NULL: not loaded */
	uint8_t *counted;          /* one for each, too: of its errors, LOADING and BODY; MISSING */
	struct dwarf_split *split; /* NULL: split units are not looked for */
	bool is_split;             /* there are skeletons */
	uint32_t loaded[MAX_LOADED];
	size_t n_loaded; /* the one used last is the last */
	size_t memory, max_unit_bytes;
	uint64_t touched; /* bytes of the file, about, since its pages were given back */
	uint64_t errors;
};

int dwarf_index_new(struct elf_file *f, struct elf_file *debug, struct elf_file *alt, size_t max_unit_bytes,
                    struct dwarf_split *split, struct dwarf_index **out)
{
	struct dwarf_index *x = calloc(1, sizeof(*x));
	size_t i;
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
	if (!err) {
		x->units = calloc(x->info->n_units + 1, sizeof(struct unit_index *));
		x->counted = calloc(x->info->n_units + 1, sizeof(*x->counted));
		err = x->units && x->counted ? 0 : -ENOMEM;
	}
	if (err) {
		dwarf_index_free(x);
		return err;
	}
	if (alt && !dwarf_info_new(alt, &x->alt))
		x->info->alt = x->alt;
	x->errors = dwarf_range_table_read(&x->ranges, x->info, f);
	for (i = 0; i < x->info->n_units; i++)
		x->is_split |= x->info->units[i].dwo_name != NULL;
	elf_file_forget_pages(debug);
	*out = x;
	return 0;
}

/* --- units ------------------------------------------------------------------------------------------ */

static void free_unit(struct unit_index *ui)
{
	if (ui->whole != ui->scopes)
		dwarf_scopes_free(ui->whole);
	dwarf_scopes_free(ui->scopes);
	dwarf_lines_free(ui->lines);
	dwarf_split_unit_free(ui->split);
	free(ui);
}

/* Forgets the i-th of those loaded. */
static void unload(struct dwarf_index *x, size_t i)
{
	uint32_t unit = x->loaded[i];

	x->memory -= x->units[unit]->memory;
	free_unit(x->units[unit]);
	x->units[unit] = NULL;
	x->n_loaded--;
	memmove(x->loaded + i, x->loaded + i + 1, (x->n_loaded - i) * sizeof(*x->loaded));
}

void dwarf_index_free(struct dwarf_index *x)
{
	if (!x)
		return;
	while (x->n_loaded)
		unload(x, x->n_loaded - 1);
	free(x->units);
	free(x->counted);
	dwarf_range_table_free(&x->ranges);
	dwarf_split_free(x->split);
	dwarf_info_free(x->info);
	dwarf_info_free(x->alt);
	free(x);
}

/* Those used last stay, whatever their size; a place is good until this is called. */
static void trim(struct dwarf_index *x)
{
	while (x->n_loaded > 1 && (x->memory > x->max_unit_bytes || x->n_loaded > MAX_LOADED / 2))
		unload(x, 0);
	/* What has been read of the file counts as ours until it is given back. */
	if (x->touched > BYTES_TO_FORGET) {
		elf_file_forget_pages(x->debug);
		x->touched = 0;
	}
}

/* Once a unit, however often it is loaded. */
static void count_errors(struct dwarf_index *x, uint32_t unit, const struct unit_index *ui, int lines_err)
{
	if (x->counted[unit] & LOADING)
		return;
	x->counted[unit] |= LOADING;
	if (!ui->scopes || ui->scopes->damaged)
		x->errors++;
	if (lines_err && lines_err != -ENOENT)
		x->errors++;
	if (ui->split)
		x->errors += ui->info->errors;
}

static void measure(struct dwarf_index *x, struct unit_index *ui)
{
	x->memory -= ui->memory;
	ui->memory = sizeof(*ui) + (ui->scopes ? dwarf_scopes_memory(ui->scopes) : 0) +
	             (ui->lines ? dwarf_lines_memory(ui->lines) : 0) +
	             (ui->split ? dwarf_split_unit_memory(ui->split) : 0) +
	             (ui->whole && ui->whole != ui->scopes ? dwarf_scopes_memory(ui->whole) : 0);
	x->memory += ui->memory;
}

static void move_to_end(struct dwarf_index *x, uint32_t unit)
{
	size_t i = x->n_loaded;

	while (i && x->loaded[i - 1] != unit)
		i--;
	memmove(x->loaded + i - 1, x->loaded + i, (x->n_loaded - i) * sizeof(*x->loaded));
	x->loaded[x->n_loaded - 1] = unit;
}

/* Where the unit's functions are; its lines are always the skeleton's. */
static void find_functions(struct dwarf_index *x, uint32_t unit, struct unit_index *ui)
{
	struct dwarf_unit *u = &x->info->units[unit];

	ui->info = x->info;
	ui->unit = u;
	if (!x->split || !u->dwo_name)
		return;
	if (!dwarf_split_open(x->split, x->info, u, &ui->split)) {
		ui->info = dwarf_split_unit_info(ui->split);
		ui->unit = dwarf_split_unit_root(ui->split);
	} else if (!(x->counted[unit] & MISSING)) {
		x->counted[unit] |= MISSING;
		dwarf_split_count_missing(x->split);
	}
}

/* NULL: no memory, or more units at once than there may be. */
static struct unit_index *load_unit(struct dwarf_index *x, uint32_t unit)
{
	struct dwarf_unit *u = &x->info->units[unit];
	struct unit_index *ui = x->units[unit];
	int err;

	if (ui) {
		if (x->loaded[x->n_loaded - 1] != unit)
			move_to_end(x, unit);
		return ui;
	}
	ui = x->n_loaded < MAX_LOADED ? calloc(1, sizeof(*ui)) : NULL;
	if (!ui)
		return NULL;
	find_functions(x, unit, ui);
	dwarf_scopes_read(ui->info, ui->unit, false, &ui->scopes);
	err = dwarf_lines_read(x->info, u, &ui->lines);
	count_errors(x, unit, ui, err);
	x->touched += u->end - u->offset;
	x->units[unit] = ui;
	x->loaded[x->n_loaded++] = unit;
	measure(x, ui);
	return ui;
}

/* What is inside the functions, too; NULL as above. */
static struct dwarf_scopes *load_whole(struct dwarf_index *x, struct unit_index *ui)
{
	if (!ui->whole && ui->scopes && !ui->scopes->has_unread)
		ui->whole = ui->scopes;
	if (!ui->whole && !dwarf_scopes_read(ui->info, ui->unit, true, &ui->whole))
		measure(x, ui);
	return ui->whole;
}

/* --- lookups ---------------------------------------------------------------------------------------- */

static void read_body(struct dwarf_index *x, uint32_t unit, const struct dwarf_place *place)
{
	bool was_damaged = place->scopes->damaged;

	dwarf_scopes_read_inlines(place->unit->info, place->unit->unit, place->scopes, place->function);
	measure(x, place->unit);
	if (place->scopes->damaged && !was_damaged && !(x->counted[unit] & BODY)) {
		x->counted[unit] |= BODY;
		x->errors++;
	}
}

/* Looks for a function in one unit. */
static bool locate_in_unit(struct dwarf_index *x, uint32_t unit, uint64_t address, struct dwarf_place *place)
{
	struct unit_index *ui = load_unit(x, unit);
	struct dwarf_scopes *scopes = ui ? ui->scopes : NULL;

	place->unit = ui;
	place->function = scopes ? dwarf_scopes_find(scopes, address, &place->same) : NULL;
	if (!place->function && scopes && scopes->has_unread) {
		scopes = load_whole(x, ui);
		place->function = scopes ? dwarf_scopes_find(scopes, address, &place->same) : NULL;
	}
	place->scopes = scopes;
	if (place->function && !place->function->inlines_read)
		read_body(x, unit, place);
	return place->function;
}

static bool has_line(const struct dwarf_place *place, uint64_t address)
{
	uint32_t file, line;

	return place->unit && place->unit->lines &&
	       dwarf_lines_find(place->unit->lines, address, 0, &file, &line);
}

/* The first unit with a function there counts; else the first with a line. */
bool dwarf_index_locate(struct dwarf_index *x, uint64_t address, struct dwarf_place *out)
{
	struct dwarf_place place = { .same = { 0, UINT64_MAX } };
	size_t low = dwarf_range_table_below(&x->ranges, address), i;
	const struct dwarf_unit_range *ranges = x->ranges.ranges;
	bool found = false;

	trim(x);
	if (low < x->ranges.n)
		dwarf_interval_end(&place.same, ranges[low].low);
	if (low)
		dwarf_interval_begin(&place.same, ranges[low - 1].low);
	for (i = 0; i < MAX_OVERLAPS && i < low; i++) {
		if (address >= ranges[low - 1 - i].high) {
			dwarf_interval_begin(&place.same, ranges[low - 1 - i].high);
			continue;
		}
		dwarf_interval_end(&place.same, ranges[low - 1 - i].high);
		if (locate_in_unit(x, ranges[low - 1 - i].unit, address, &place)) {
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

/* A DIE as others know it: its offset, and of a split unit above that which one it is, counted from 1. */
static uint64_t die_of(const struct unit_index *ui, uint64_t offset)
{
	const struct dwarf_unit *skeleton = ui->info->skeleton;

	return skeleton ? offset | (uint64_t)(skeleton->index + 1) << DIE_SHIFT : offset;
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
	size_t n = f ? dwarf_scopes_inlines(place->scopes, f, address, chain, MAX_INLINED) : 0, i;
	uint64_t scope_start = n ? chain[n - 1]->low : f ? f->low : 0;
	uint32_t file = 0, line = 0;
	bool known = lines && dwarf_lines_find(lines, address, scope_start, &file, &line);

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
	const struct dwarf_unit *u = dwarf_unit_at(name->info, name->die), *skeleton = name->info->skeleton;
	struct unit_index *ui;

	if (!u || dwarf_unit_is_c(u) || (name->info != x->info && !skeleton))
		return NULL;
	ui = load_unit(x, skeleton ? skeleton->index : u->index);
	return ui && ui->unit == u ? load_whole(x, ui) : NULL;
}

/* The file that a DIE is in, and its offset there. NULL: it is not to be had any more. */
static struct dwarf_info *info_of_die(struct dwarf_index *x, uint64_t *die)
{
	uint64_t unit = *die >> DIE_SHIFT;
	struct unit_index *ui;

	if (!unit)
		return x->info;
	*die &= ((uint64_t)1 << DIE_SHIFT) - 1;
	ui = unit <= x->info->n_units ? load_unit(x, (uint32_t)unit - 1) : NULL;
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
	if (scopes && scopes->n_namings)
		dwarf_scopes_qualify(scopes, name.die, name.name, out, size);
	else
		snprintf(out, size, "%s", name.name);
	return true;
}

bool dwarf_index_is_split(const struct dwarf_index *x)
{
	return x->is_split;
}

bool dwarf_index_has_lines(const struct dwarf_index *x)
{
	return x->info->line.len;
}

size_t dwarf_index_memory(const struct dwarf_index *x)
{
	return x->memory + (x->split ? dwarf_split_memory(x->split) : 0) +
	       x->ranges.max * sizeof(*x->ranges.ranges) + x->info->memory + (x->alt ? x->alt->memory : 0) +
	       x->info->n_units * (sizeof(struct unit_index *) + sizeof(*x->counted));
}

uint64_t dwarf_index_errors(const struct dwarf_index *x)
{
	return x->errors + x->info->errors;
}
