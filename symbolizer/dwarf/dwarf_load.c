/* Loads the functions and lines of units, and drops those of the units least recently used. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/dwarf/dwarf_index_state.h"

/* The pages of a mapped file are given back after each so many bytes of units. */
#define BYTES_TO_FORGET ((uint64_t)8 << 20)

/* Of abbreviations as much may be kept as of units, divided by this. */
#define ABBREVS_PART 2

/*
 * One lookup loads no further unit once there are so many times the bytes that may be kept, and some for bounds that are
 * very small: units may share one line table, so that a file of some KB would have a GB of them.
 */
#define MOST_AT_ONCE  4
#define ROOM_AT_LEAST ((size_t)2 << 20)

#define MAX_SKELETONS ((uint32_t)1 << 23)

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
	x->memory -= x->loaded[i]->memory;
	free_unit(x->loaded[i]);
	x->n_loaded--;
	memmove(x->loaded + i, x->loaded + i + 1, (x->n_loaded - i) * sizeof(struct unit_index *));
}

void dwarf_load_drop_all(struct dwarf_index *x)
{
	while (x->n_loaded)
		unload(x, x->n_loaded - 1);
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

static void forget_abbrevs(const struct dwarf_index *x, struct dwarf_info *d)
{
	if (d->abbrev_memory > x->max_unit_bytes / ABBREVS_PART)
		dwarf_info_forget_abbrevs(d);
}

/* Those used last stay, whatever their size; a place is good until this is called. */
void dwarf_load_trim(struct dwarf_index *x)
{
	size_t i;

	for (i = 0; i < x->n_loaded; i++)
		if (x->loaded[i]->split) /* names may have been looked for in it since */
			measure(x, x->loaded[i]);
	while (x->n_loaded > 1 && (x->memory > x->max_unit_bytes || x->n_loaded > MAX_LOADED / 2))
		unload(x, 0);
	forget_abbrevs(x, x->info);
	if (x->alt)
		forget_abbrevs(x, x->alt);
	/* What has been read of the file counts as ours until it is given back. */
	if (x->touched > BYTES_TO_FORGET) {
		elf_file_forget_pages(x->debug);
		x->touched = 0;
	}
}

/* Once a unit, however often it is loaded. */
static void count_errors(struct dwarf_index *x, const struct unit_index *ui, int lines_err)
{
	if (ui->in_file->errors_told & LOADING)
		return;
	ui->in_file->errors_told |= LOADING;
	if (!ui->scopes || ui->scopes->damaged)
		x->errors++;
	if (lines_err && lines_err != -ENOENT)
		x->errors++;
	if (ui->split)
		x->errors += ui->info->errors;
}

/* NULL: not loaded. */
static struct unit_index *find_loaded(struct dwarf_index *x, const struct dwarf_unit *u)
{
	size_t i = x->n_loaded;
	struct unit_index *ui;

	while (i && x->loaded[i - 1]->in_file != u)
		i--;
	if (!i)
		return NULL;
	ui = x->loaded[i - 1];
	memmove(x->loaded + i - 1, x->loaded + i, (x->n_loaded - i) * sizeof(struct unit_index *));
	x->loaded[x->n_loaded - 1] = ui;
	return ui;
}

static int number_skeleton(struct dwarf_index *x, struct dwarf_unit *u)
{
	struct dwarf_unit **bigger;
	size_t n = x->n_skeletons;

	if (u->number)
		return 0;
	if (n >= MAX_SKELETONS)
		return -ENOMEM;
	if (!(n & (n - 1)) && (!n || n >= 16)) {
		bigger = realloc(x->skeletons, (n ? n * 2 : 16) * sizeof(struct dwarf_unit *));
		if (!bigger)
			return -ENOMEM;
		x->skeletons = bigger;
	}
	x->skeletons[x->n_skeletons++] = u;
	u->number = x->n_skeletons;
	return 0;
}

/* Where the unit's functions are; its lines are always the skeleton's. */
static void find_functions(struct dwarf_index *x, struct unit_index *ui)
{
	struct dwarf_unit *u = ui->in_file;

	ui->info = x->info;
	ui->unit = u;
	if (!u->dwo_name || number_skeleton(x, u) || !x->split)
		return;
	if (!dwarf_split_open(x->split, x->info, u, &ui->split)) {
		ui->info = dwarf_split_unit_info(ui->split);
		ui->unit = dwarf_split_unit_root(ui->split);
	} else if (!(u->errors_told & MISSING)) {
		u->errors_told |= MISSING;
		dwarf_split_count_missing(x->split);
	}
}

static bool is_full(const struct dwarf_index *x)
{
	return x->n_loaded == MAX_LOADED ||
	       (x->n_loaded && x->memory / MOST_AT_ONCE > x->max_unit_bytes + ROOM_AT_LEAST);
}

/* The answers of this lookup may be others than those of one that had more room. */
static void count_refusal(struct dwarf_index *x, struct dwarf_unit *u)
{
	x->is_partial = true;
	if (!(u->errors_told & REFUSED))
		x->errors++;
	u->errors_told |= REFUSED;
}

struct unit_index *dwarf_load_unit(struct dwarf_index *x, struct dwarf_unit *u)
{
	struct unit_index *ui = find_loaded(x, u);
	int err;

	if (ui)
		return ui;
	if (is_full(x)) {
		count_refusal(x, u);
		return NULL;
	}
	ui = calloc(1, sizeof(*ui));
	if (!ui)
		return NULL;
	ui->in_file = u;
	find_functions(x, ui);
	dwarf_scopes_read(ui->info, ui->unit, false, &ui->scopes);
	err = dwarf_lines_read(x->info, u, &ui->lines);
	count_errors(x, ui, err);
	x->is_partial |= err && ui->lines;
	x->touched += u->end - u->offset;
	x->loaded[x->n_loaded++] = ui;
	measure(x, ui);
	return ui;
}

/* What is inside the functions, too; NULL as above. */
struct dwarf_scopes *dwarf_load_whole(struct dwarf_index *x, struct unit_index *ui)
{
	if (!ui->whole && ui->scopes && !ui->scopes->has_unread)
		ui->whole = ui->scopes;
	if (!ui->whole && !dwarf_scopes_read(ui->info, ui->unit, true, &ui->whole))
		measure(x, ui);
	return ui->whole;
}

void dwarf_load_body(struct dwarf_index *x, const struct dwarf_place *place)
{
	struct dwarf_unit *u = place->unit->in_file;
	bool was_damaged = place->scopes->damaged;

	if (place->function->inlines_read)
		return;
	dwarf_scopes_read_inlines(place->unit->info, place->unit->unit, place->scopes, place->function);
	measure(x, place->unit);
	if (place->scopes->damaged && !was_damaged && !(u->errors_told & BODY)) {
		u->errors_told |= BODY;
		x->errors++;
	}
}
