/*
 * Address -> frames of one file's DWARF. The table of which unit covers which addresses is made at once, from
 * the units' root DIEs (.debug_aranges is not needed, clang writes none); a unit's functions and lines when
 * an address in it is first asked for.
 */
#ifndef SYMBOLIZER_DWARF_INDEX_H
#define SYMBOLIZER_DWARF_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/dwarf_lines.h"
#include "symbolizer/dwarf_scopes.h"
#include "symbolizer/dwarf_unit.h"

struct dwarf_index;

struct dwarf_frame {
	struct dwarf_name name; /* of nothing: the unit has lines there but no function */
	bool inlined;
	const struct dwarf_lines *lines; /* for dwarf_lines_path(); NULL: no file */
	uint32_t file, line;
};

/*
 * `debug` holds the DWARF and `alt` (may be NULL) what dwz moved out of it; `f` says which addresses are
 * code. All stay open as long as the index. -ENOENT: no DWARF.
 */
int dwarf_index_new(struct elf_file *f, struct elf_file *debug, struct elf_file *alt,
                    struct dwarf_index **out);
void dwarf_index_free(struct dwarf_index *x);

/* Innermost first; returns how many of at most `max`; 0: nothing is known of that address. */
size_t dwarf_index_find(struct dwarf_index *x, uint64_t address, struct dwarf_frame *frames, size_t max);

/* Writes a name with the namespaces and classes around it, which a mangled one has in it already. */
void dwarf_index_full_name(struct dwarf_index *x, const struct dwarf_name *name, char *out, size_t size);

bool dwarf_index_has_lines(const struct dwarf_index *x);
size_t dwarf_index_memory(const struct dwarf_index *x);
uint64_t dwarf_index_errors(const struct dwarf_index *x);

#endif
