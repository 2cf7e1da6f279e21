/* What a `struct dwarf_index` is made of: for dwarf_index.c and dwarf_load.c. */
#ifndef SYMBOLIZER_DWARF_INDEX_STATE_H
#define SYMBOLIZER_DWARF_INDEX_STATE_H

#include "symbolizer/dwarf/dwarf_index.h"
#include "symbolizer/dwarf/dwarf_ranges.h"

/* Units that are loaded at once. */
#define MAX_LOADED 1024

/* Of dwarf_unit.errors_told. */
#define LOADING 1
#define BODY    2
#define MISSING 4 /* its split unit */
#define REFUSED 8 /* too much was loaded already */

/* What has been read of one unit. */
struct unit_index {
	struct dwarf_unit *in_file;     /* as the file has it; the lines are from it */
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
	struct dwarf_ranges aranges; /* by .debug_aranges */
	struct dwarf_ranges ranges;  /* by all units */
	bool ranges_read;
	bool is_partial; /* a unit was not loaded, as too much was, or not all its lines */
	struct unit_index *loaded[MAX_LOADED]; /* the one used last is the last */
	size_t n_loaded;
	size_t memory, max_unit_bytes;
	struct dwarf_split *split;     /* NULL: split units are not looked for */
	struct dwarf_unit **skeletons; /* by their number less 1 */
	uint32_t n_skeletons;
	uint64_t touched; /* about how many bytes of the file were read since its pages were given back */
	uint64_t errors;
};

/* Keeps the units used last, up to the bound, and frees the others; all places become invalid. */
void dwarf_load_trim(struct dwarf_index *x);
void dwarf_load_drop_all(struct dwarf_index *x);

/*
 * Loads a unit of the file, unless it is loaded. NULL: no memory, or so much has been loaded since dwarf_load_trim() that
 * there is no room, which is counted as an error, and makes the index partial.
 */
struct unit_index *dwarf_load_unit(struct dwarf_index *x, struct dwarf_unit *u);

/* Loads the unit's functions together with what is inside them. NULL as above. */
struct dwarf_scopes *dwarf_load_whole(struct dwarf_index *x, struct unit_index *ui);

/* Reads what was inlined into the place's function, unless it has been read. */
void dwarf_load_body(struct dwarf_index *x, const struct dwarf_place *place);

#endif
