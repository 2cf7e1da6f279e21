#include "symbolizer/dwarf_index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_RANGES  (1 << 24)
#define MAX_INLINED 128

/* The pages of a mapped file are given back after each so many units. */
#define UNITS_TO_FORGET 32

/* How many ranges a lookup goes back for one that overlaps those after it. */
#define MAX_OVERLAPS 32

struct unit_range {
	uint64_t low, high;
	uint32_t unit;
};

/* What has been read of one unit. */
struct unit_index {
	struct dwarf_scopes *scopes;
	struct dwarf_lines *lines;
	bool tried;
};

struct dwarf_index {
	struct elf_file *file, *debug;
	struct dwarf_info *info, *alt;
	struct unit_range *ranges; /* by low */
	size_t n_ranges, max_ranges;
	struct unit_index *units; /* one for each of info->units */
	uint32_t current;         /* the unit whose ranges are being added */
	size_t memory, n_loaded;
	uint64_t errors;
};

static int add_range(uint64_t low, uint64_t high, void *context)
{
	struct dwarf_index *x = context;
	struct unit_range *bigger;
	size_t more;

	if (!low || !elf_file_executable(x->file, low))
		return 0;
	if (x->n_ranges == x->max_ranges) {
		more = x->max_ranges ? x->max_ranges * 2 : 256;
		bigger = more > MAX_RANGES ? NULL : realloc(x->ranges, more * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		x->ranges = bigger;
		x->max_ranges = more;
	}
	x->ranges[x->n_ranges++] = (struct unit_range){ low, high, x->current };
	return 0;
}

static int compare_lows(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

static void read_ranges(struct dwarf_index *x)
{
	const struct dwarf_unit *u;
	size_t i;

	for (i = 0; i < x->info->n_units; i++) {
		u = &x->info->units[i];
		x->current = (uint32_t)i;
		if (dwarf_each_range(x->info, u, &u->root_low_pc, &u->root_high_pc, &u->root_ranges,
		                     add_range, x))
			x->errors++;
	}
	if (x->n_ranges)
		qsort(x->ranges, x->n_ranges, sizeof(*x->ranges), compare_lows);
}

int dwarf_index_new(struct elf_file *f, struct elf_file *debug, struct elf_file *alt,
                    struct dwarf_index **out)
{
	struct dwarf_index *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return -ENOMEM;
	x->file = f;
	x->debug = debug;
	err = dwarf_info_new(debug, &x->info);
	if (!err) {
		x->units = calloc(x->info->n_units + 1, sizeof(*x->units));
		err = x->units ? 0 : -ENOMEM;
	}
	if (err) {
		dwarf_index_free(x);
		return err;
	}
	if (alt && !dwarf_info_new(alt, &x->alt))
		x->info->alt = x->alt;
	read_ranges(x);
	elf_file_forget_pages(debug);
	*out = x;
	return 0;
}

void dwarf_index_free(struct dwarf_index *x)
{
	size_t i;

	if (!x)
		return;
	for (i = 0; x->units && i < x->info->n_units; i++) {
		dwarf_scopes_free(x->units[i].scopes);
		dwarf_lines_free(x->units[i].lines);
	}
	free(x->units);
	free(x->ranges);
	dwarf_info_free(x->info);
	dwarf_info_free(x->alt);
	free(x);
}

static struct unit_index *load_unit(struct dwarf_index *x, uint32_t unit)
{
	struct unit_index *ui = &x->units[unit];
	struct dwarf_unit *u = &x->info->units[unit];
	int err;

	if (ui->tried)
		return ui;
	ui->tried = true;
	/* What has been read of the file counts as ours until it is given back. */
	if (++x->n_loaded % UNITS_TO_FORGET == 0)
		elf_file_forget_pages(x->debug);
	err = dwarf_scopes_read(x->info, u, &ui->scopes);
	if (err || ui->scopes->damaged)
		x->errors++;
	err = dwarf_lines_read(x->info, u, &ui->lines);
	if (err && err != -ENOENT)
		x->errors++;
	x->memory += ui->scopes ? dwarf_scopes_memory(ui->scopes) : 0;
	x->memory += ui->lines ? dwarf_lines_memory(ui->lines) : 0;
	return ui;
}

/*
 * Turns the chain at one address round: the innermost frame stands at the row's line, every other one where
 * the next inner one was called.
 */
static size_t fill_frames(struct dwarf_index *x, const struct unit_index *ui, uint64_t address,
                          const struct dwarf_function *f, struct dwarf_frame *frames, size_t max)
{
	const struct dwarf_inline *chain[MAX_INLINED];
	size_t n = f ? dwarf_scopes_inlines(ui->scopes, f, address, chain, MAX_INLINED) : 0, i;
	uint64_t scope_start = n ? chain[n - 1]->low : f ? f->low : 0;
	uint32_t file = 0, line = 0;
	bool known = ui->lines && dwarf_lines_find(ui->lines, address, scope_start, &file, &line);

	if (!f && !known)
		return 0;
	for (i = 0; i < n + 1 && i < max; i++) {
		const struct dwarf_inline *inlined = i < n ? chain[n - 1 - i] : NULL;

		frames[i] = (struct dwarf_frame){
			.inlined = inlined, .lines = known ? ui->lines : NULL, .file = file, .line = line
		};
		if (inlined || f)
			frames[i].name = dwarf_function_name(x->info, inlined ? inlined->die : f->die);
		if (!inlined)
			continue;
		known = ui->lines;
		file = inlined->call_file;
		line = inlined->call_line;
	}
	return i;
}

size_t dwarf_index_find(struct dwarf_index *x, uint64_t address, struct dwarf_frame *frames, size_t max)
{
	size_t low = 0, high = x->n_ranges, mid, i, n = 0;
	const struct dwarf_function *f;
	struct unit_index *ui;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (x->ranges[mid].low <= address)
			low = mid + 1;
		else
			high = mid;
	}
	for (i = 0; i < MAX_OVERLAPS && i < low; i++) {
		if (address >= x->ranges[low - 1 - i].high)
			continue;
		ui = load_unit(x, x->ranges[low - 1 - i].unit);
		f = ui->scopes ? dwarf_scopes_find(ui->scopes, address) : NULL;
		if (f)
			return fill_frames(x, ui, address, f, frames, max);
		if (!n)
			n = fill_frames(x, ui, address, NULL, frames, max);
	}
	return n;
}

void dwarf_index_full_name(struct dwarf_index *x, const struct dwarf_name *name, char *out, size_t size)
{
	struct dwarf_unit *u = name->info == x->info ? dwarf_unit_at(x->info, name->die) : NULL;
	struct unit_index *ui = u && !name->is_mangled ? load_unit(x, (uint32_t)(u - x->info->units)) : NULL;

	if (ui && ui->scopes && ui->scopes->n_namings)
		dwarf_scopes_qualify(ui->scopes, name->die, name->name, out, size);
	else
		snprintf(out, size, "%s", name->name);
}

bool dwarf_index_has_lines(const struct dwarf_index *x)
{
	return x->info->line.len;
}

size_t dwarf_index_memory(const struct dwarf_index *x)
{
	return x->memory + x->max_ranges * sizeof(*x->ranges) + x->info->memory +
	       (x->alt ? x->alt->memory : 0) + x->info->n_units * sizeof(*x->units);
}

uint64_t dwarf_index_errors(const struct dwarf_index *x)
{
	return x->errors + x->info->errors;
}
