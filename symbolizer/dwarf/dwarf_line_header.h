/* The header of a line table: how its program is encoded, and the file names. */
#ifndef SYMBOLIZER_DWARF_LINE_HEADER_H
#define SYMBOLIZER_DWARF_LINE_HEADER_H

#include "symbolizer/dwarf/dwarf_unit.h"

struct dwarf_file_name {
	const char *name; /* in the section it came from */
	uint32_t directory;
};

struct dwarf_line_header {
	uint16_t version;
	uint8_t offset_size, address_size;
	uint8_t min_instruction_length, opcode_base, line_range;
	int8_t line_base;
	const uint8_t *opcode_lengths; /* opcode_base - 1 of them */
	const char **directories;
	size_t n_directories;
	struct dwarf_file_name *files;
	size_t n_files;
	struct dwarf_cursor program;
};

/*
 * Reads the header at u->stmt_list. In versions before 5 directory 0 is u->comp_dir and file 0 u->name, so that
 * numbers index the arrays in every version. The caller frees the arrays by dwarf_line_header_release(), also after
 * an error.
 */
int dwarf_line_header_read(const struct dwarf_info *d, const struct dwarf_unit *u,
                           struct dwarf_line_header *out);
void dwarf_line_header_release(struct dwarf_line_header *h);

#endif
