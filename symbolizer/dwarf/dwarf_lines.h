/*
 * Line tables: the program of one unit run into rows sorted by address, and its file names. Versions 2 to 5.
 *
 * Of rows at one address the last counts, as it does for addr2line and llvm-symbolizer.
 */
#ifndef SYMBOLIZER_DWARF_LINES_H
#define SYMBOLIZER_DWARF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/dwarf/dwarf_interval.h"
#include "symbolizer/dwarf/dwarf_unit.h"

struct dwarf_lines;

/*
 * *out stays as it is unless there is a table. -ENOENT: the unit has none; -EBADMSG: malformed; -EFBIG: too much work. A
 * table that is broken half-way has the rows before that; so has one with too many of them, or for which there is no memory,
 * and then it is -EFBIG or -ENOMEM.
 */
int dwarf_lines_read(struct dwarf_info *d, const struct dwarf_unit *u, struct dwarf_lines **out);
void dwarf_lines_free(struct dwarf_lines *l);

/*
 * False: the address is in no row. *line is 0 where the compiler gave none, as for code merged from several places:
 * the line before would often be one that did not run.
 */
bool dwarf_lines_find(const struct dwarf_lines *l, uint64_t address, uint32_t *file, uint32_t *line);

/*
 * Finds the addresses at which dwarf_lines_find() may begin to give another answer: narrows `same` to the sequence of
 * rows around `address`, or to the gap around it, and calls `each` with the address of every row in `same` after its
 * first. Stops when `each` returns anything but 0, and returns that.
 */
int dwarf_lines_each_row(const struct dwarf_lines *l, uint64_t address, struct dwarf_interval *same,
                         int (*each)(uint64_t row, void *context), void *context);

/*
 * The path of a file by the number that rows and DW_AT_call_file have for it: its directory's, and the
 * compilation directory's before that where it is relative. False: no such file.
 */
bool dwarf_lines_path(const struct dwarf_lines *l, uint32_t file, char *path, size_t size);
size_t dwarf_lines_memory(const struct dwarf_lines *l);

#endif
