/*
 * The units of .debug_info, and reading the DIEs in them: versions 2 to 5, 32- and 64-bit.
 *
 * A `struct dwarf_info` holds one file's sections and its table of units, by offset. Attribute values are
 * read raw and resolved when asked for, since what some of them mean (addrx, strx, rnglistx) depends on
 * others of the unit's root DIE.
 */
#ifndef SYMBOLIZER_DWARF_UNIT_H
#define SYMBOLIZER_DWARF_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/dwarf/dwarf_types.h"

/* Finds the sections in `f`, which must stay open as long as *out lives. -ENOENT: no .debug_info. */
int dwarf_info_new(struct elf_file *f, struct dwarf_info **out);

/*
 * The same for sections of split units, which the caller has found, with all units read. Their `skeleton`, which must
 * outlive *out, says where their addresses, and in DWARF 4 their ranges, are.
 */
int dwarf_info_new_split(const struct dwarf_info *sections, const struct dwarf_unit *skeleton,
                         struct dwarf_info **out);
void dwarf_info_free(struct dwarf_info *d);

/* Loads a section; without one of that name *out stays as it is. -errno as elf_file_section(). */
int dwarf_section_load(struct elf_file *f, const char *name, struct dwarf_section *out);

/*
 * The same for d->info. gcc puts each type unit of DWARF 5 into a section of its own, all of one name, which the linker makes
 * one of: in files that were not linked, object files and .dwo, these are passed over. This may be work.
 */
int dwarf_info_load(struct dwarf_info *d, struct elf_file *f, const char *name);

/*
 * Counts `steps` of what many units may share, or what takes no bytes: reading a table of abbreviations, a list of
 * ranges, a line table, attributes without content; or what is gone through for each address, as inlined functions. By these a small file could take hours. False: it has been too much
 * in all; the file counts as refused, and nothing more is to be read of it until lookups have paid half of it back.
 * A step takes 2 to 4 ns.
 */
bool dwarf_info_work(struct dwarf_info *d, uint64_t steps);
bool dwarf_info_is_overworked(const struct dwarf_info *d);

/* To be called once a lookup: makes up for the work of an ordinary one in that file. */
void dwarf_info_rest(struct dwarf_info *d);

/* The steps to run a line program of so many bytes. */
static inline uint64_t dwarf_lines_work(uint64_t bytes)
{
	return bytes / 2;
}

/*
 * Reads the headers and root DIEs of all units, once: milliseconds in files with thousands of them. Fewer, where that is
 * too much work.
 */
void dwarf_info_read_units(struct dwarf_info *d);

/*
 * The unit that an offset of .debug_info lies in; NULL: none. dwarf_unit_at() reads all units, unless
 * dwarf_unit_that_begins() has read that one; dwarf_unit_that_begins() reads just the unit at that offset. Units
 * never move in memory.
 */
struct dwarf_unit *dwarf_unit_at(struct dwarf_info *d, uint64_t offset);
struct dwarf_unit *dwarf_unit_that_begins(struct dwarf_info *d, uint64_t offset);

/*
 * Reads header and root DIE of the unit at the cursor and moves the cursor behind the unit. -ENOTSUP: a kind of unit
 * that is not read; -EBADMSG: malformed, and no more can follow.
 */
int dwarf_unit_read(struct dwarf_info *d, struct dwarf_cursor *c, struct dwarf_unit *out);

/* Is it in a language that has no namespaces and no functions in structures? */
bool dwarf_unit_is_c(const struct dwarf_unit *u);
bool dwarf_unit_is_cxx(const struct dwarf_unit *u);
bool dwarf_unit_is_rust(const struct dwarf_unit *u);

/* Loads the unit's abbreviations; needed before dwarf_read_die(). -EFBIG: too many are loaded, or too much work. */
int dwarf_unit_prepare(struct dwarf_info *d, struct dwarf_unit *u);

/* Frees the abbreviations of all units: each has to be prepared again. */
void dwarf_info_forget_abbrevs(struct dwarf_info *d);

/* From `offset` of .debug_info to the unit's end. */
struct dwarf_cursor dwarf_unit_cursor(const struct dwarf_info *d, const struct dwarf_unit *u,
                                      uint64_t offset);

/* Reads one DIE. Returns 1; 0: the end of a list of siblings; -EBADMSG: malformed; -EFBIG: too much work. */
int dwarf_read_die(struct dwarf_info *d, const struct dwarf_unit *u, struct dwarf_cursor *c,
                   struct dwarf_die *out);

/*
 * Skips DIEs without anything of interest (types, variables, parameters), with their children, where that is quick.
 */
void dwarf_skip_unneeded(const struct dwarf_info *d, const struct dwarf_unit *u, struct dwarf_cursor *c);

/*
 * Resolve a value. They return NULL or false when it is absent, of another class, or wrong; or a string in a section of
 * strings that has 32 KiB or more, by which a name would be cut.
 */
const char *dwarf_value_string(const struct dwarf_info *d, const struct dwarf_unit *u,
                               const struct dwarf_value *v);
bool dwarf_value_address(const struct dwarf_info *d, const struct dwarf_unit *u, const struct dwarf_value *v,
                         uint64_t *address);

/* The offset of the DIE that is referred to, in the .debug_info of *in, which is `d` or its alt. */
bool dwarf_value_reference(struct dwarf_info *d, const struct dwarf_unit *u, const struct dwarf_value *v,
                           struct dwarf_info **in, uint64_t *offset);

/*
 * Calls `each` for each address range that low_pc, high_pc and ranges make. -EBADMSG: broken list; -EFBIG: too much
 * work.
 */
typedef int (*dwarf_range_fn)(uint64_t low, uint64_t high, void *context);
int dwarf_each_range(struct dwarf_info *d, const struct dwarf_unit *u, const struct dwarf_value *low_pc,
                     const struct dwarf_value *high_pc, const struct dwarf_value *ranges, dwarf_range_fn each,
                     void *context);

#endif
