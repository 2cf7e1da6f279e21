/*
 * Address -> frames of one file's DWARF. .debug_aranges says which unit has an address; where there is none (clang
 * writes none), a table made once from the root DIEs of all units does. A unit's functions and lines are read when an
 * address in it is asked for, and kept for the units used last, as far as the bound goes.
 *
 *	if (dwarf_index_locate(x, address, &place))
 *		n = dwarf_index_frames(&place, address, frames, max);
 */
#ifndef SYMBOLIZER_DWARF_INDEX_H
#define SYMBOLIZER_DWARF_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/dwarf/dwarf_lines.h"
#include "symbolizer/dwarf/dwarf_scopes.h"
#include "symbolizer/dwarf/dwarf_split.h"
#include "symbolizer/dwarf/dwarf_unit.h"

struct dwarf_index;

struct dwarf_frame {
	uint64_t
	        die; /* of the function, for dwarf_index_name(); 0: none, the unit has lines there and no more */
	bool inlined;
	const struct dwarf_lines *lines; /* for dwarf_lines_path(); NULL: no file */
	uint32_t file, line;
};

/* What is known of an address, and of those around it. Valid until another one is located. */
struct dwarf_place {
	struct unit_index *unit;
	struct dwarf_scopes *scopes;     /* the function's */
	struct dwarf_function *function; /* NULL: none, but lines */
	struct dwarf_interval same;      /* the addresses for which the place is the same */
};

/*
 * `debug` holds the DWARF and `alt` (may be NULL) what dwz moved out of it; `f` says which addresses are code. All
 * stay open as long as the index. `max_unit_bytes` bounds what is kept of units, except the one used last; a lookup
 * may take some times as much until the next. `split`
 * (may be NULL; the index takes it in any case) finds split units; where it does not find one, only the skeleton's
 * functions are known, mostly none. -ENOENT: no DWARF.
 */
int dwarf_index_new(struct elf_file *f, struct elf_file *debug, struct elf_file *alt, size_t max_unit_bytes,
                    struct dwarf_split *split, struct dwarf_index **out);
void dwarf_index_free(struct dwarf_index *x);

/* False: nothing is known of that address. */
bool dwarf_index_locate(struct dwarf_index *x, uint64_t address, struct dwarf_place *out);

/*
 * The frames of any address in place->same, innermost first; returns how many of at most `max`. 0: none, where
 * the place has no function and there is no line either.
 */
size_t dwarf_index_frames(const struct dwarf_place *place, uint64_t address, struct dwarf_frame *frames,
                          size_t max);

/*
 * Calls `each` for every address in place->same, except its first, at which the frames may differ from those just
 * below; in no order, some of them twice. Narrows place->same around `address` as dwarf_lines_each_row() does. Stops
 * when `each` returns anything but 0, and returns that.
 */
int dwarf_index_each_change(struct dwarf_place *place, uint64_t address,
                            int (*each)(uint64_t address, void *context), void *context);

/*
 * The name of the function at `die`: its linkage name, or else the plain one with the namespaces and classes around
 * it. False: it has none. Places stay valid.
 */
bool dwarf_index_name(struct dwarf_index *x, uint64_t die, char *out, size_t size);

/*
 * Is it a C++ function without a linkage name? Functions that no other unit can call have none, templates of a lambda
 * among them; if such a function has code of its own, the symbol table has its whole name.
 */
bool dwarf_index_lacks_linkage_name(struct dwarf_index *x, uint64_t die);

/* Split units are looked for there from now on, see dwarf_split_move(). */
bool dwarf_index_move(struct dwarf_index *x, const struct debug_file_place *place);

/*
 * Did any answer depend on split units? Their files are found by name, so later answers may differ.
 */
bool dwarf_index_is_split(const struct dwarf_index *x);

/*
 * May an answer have been given without all that the file says? For sections that could not be loaded, for want of memory
 * for example, or for bounds that a lookup came to.
 */
bool dwarf_index_is_partial(const struct dwarf_index *x);

bool dwarf_index_has_lines(const struct dwarf_index *x);
size_t dwarf_index_memory(const struct dwarf_index *x);
uint64_t dwarf_index_errors(const struct dwarf_index *x);

#endif
