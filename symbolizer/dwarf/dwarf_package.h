/*
 * The index of a .dwp file, .debug_cu_index: where in the file's sections the part of each split unit is. Version 2
 * is GNU's, for DWARF 4, version 5 that of the standard.
 *
 *	version, columns N, units U, slots S
 *	S signatures, a hash table by dwo_id	S row numbers, 0: the slot is empty
 *	N column titles				U x N offsets	U x N lengths
 */
#ifndef SYMBOLIZER_DWARF_PACKAGE_H
#define SYMBOLIZER_DWARF_PACKAGE_H

#include <stddef.h>
#include <stdint.h>

/* The parts of one unit. */
enum dwarf_package_part {
	PACKAGE_INFO,
	PACKAGE_ABBREV,
	PACKAGE_STR_OFFSETS,
	PACKAGE_RNGLISTS,
	PACKAGE_PARTS
};

struct dwarf_package_row {
	struct {
		uint32_t offset, len; /* len 0: it has none */
	} parts[PACKAGE_PARTS];
};

/*
 * `data` is the index section. *tries becomes how many slots were looked at: some, unless it is made to take long. -ENOENT: no
 * such unit in it; -EBADMSG: it is broken, or of another version.
 */
int dwarf_package_find(const uint8_t *data, size_t len, uint64_t dwo_id, struct dwarf_package_row *out,
                       uint32_t *tries);

#endif
