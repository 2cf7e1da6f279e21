/*
 * Split DWARF (-gsplit-dwarf): the linked file has a skeleton of each unit, with its address ranges, its line table
 * and its address table; functions and what was inlined into them stand in a split unit elsewhere. That is the .dwo
 * file that the compiler left beside the object file, or FILE.dwp, in which those of all units were put together.
 *
 * A split unit is found by its dwo_id, and none with another one is taken. Where it is looked for:
 *	PATH.dwp beside the file, and in DEBUG_DIR, by path and as .build-id/ab/cdef.dwp
 *	COMP_DIR/DWO_NAME, or DWO_NAME when that is absolute
 *	DWO_NAME, and its last component alone, in the folder where the file is: for what was moved or packed
 * all as the process sees them (debug_file.h says how far these files are trusted), except DEBUG_DIR.
 */
#ifndef SYMBOLIZER_DWARF_SPLIT_H
#define SYMBOLIZER_DWARF_SPLIT_H

#include "symbolizer/elf/debug_file.h"
#include "symbolizer/dwarf/dwarf_unit.h"
#include "symbolizer/types.h"

struct dwarf_split;      /* where one file's split units are */
struct dwarf_split_unit; /* one that has been found */

/*
 * Copies `place`. `stats` outlives it: split_files_opened, split_files_missing, files_too_large and files_corrupt
 * are counted there. NULL: no memory.
 */
struct dwarf_split *dwarf_split_new(const struct debug_file_place *place, const char *build_id,
                                    size_t max_bytes, struct symbolizer_stats *stats);
void dwarf_split_free(struct dwarf_split *s);

/*
 * Looks at another place from now on; copies its root and path. True: some unit may have been missed, as the place before
 * had gone.
 */
bool dwarf_split_move(struct dwarf_split *s, const struct debug_file_place *place);

/*
 * Opens the split unit of `skeleton`, which is one of `d`'s; both have to outlive it, and `s`, too. -ENOENT: there is
 * none to be found, or the unit is no skeleton.
 */
int dwarf_split_open(struct dwarf_split *s, struct dwarf_info *d, const struct dwarf_unit *skeleton,
                     struct dwarf_split_unit **out);
void dwarf_split_unit_free(struct dwarf_split_unit *split);

/* Call once for each unit that was not found. */
void dwarf_split_count_missing(struct dwarf_split *s);

/* Both live as long as the split unit. */
struct dwarf_info *dwarf_split_unit_info(const struct dwarf_split_unit *split);
struct dwarf_unit *dwarf_split_unit_root(const struct dwarf_split_unit *split);

/* Bytes used, without those of the split units; and bytes used by one split unit. */
size_t dwarf_split_memory(const struct dwarf_split *s);
size_t dwarf_split_unit_memory(const struct dwarf_split_unit *split);

#endif
