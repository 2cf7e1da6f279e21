/*
 * Call frame information of a file: how to get from one frame to its caller, by .eh_frame and .debug_frame.
 *
 *	index (cfi_index.h)		functions by address; read in blocks, those that a search needs
 *	sections (cfi_section.h)	what the rows are made of, read entry by entry
 *	rows				address -> id of rules, 4 bytes each; made for CFI_CHUNK functions at a
 *					time, when addresses in them are asked for the fifth time
 *	rules (cfi_rules.h)		each once
 *
 * So a library of 350,000 functions costs no pause, and memory for what is on stacks. Rows say all that the
 * instructions say, DWARF expressions and odd registers too; cfi_find() runs the instructions instead.
 */
#ifndef SYMBOLIZER_CFI_H
#define SYMBOLIZER_CFI_H

#include "symbolizer/cfi/cfi_rules.h"
#include "symbolizer/elf/elf_file.h"

#define CFI_CHUNK 4

struct cfi;

/* The file stays open as long as the table. -ENOENT: it has none; -ENOTSUP: a processor that cfi_arch.h does not have; -ENOMEM. */
int cfi_new(struct elf_file *f, struct cfi **out);

/* The same of a separate debug file, whose segments lead nowhere. */
int cfi_new_of_debug_file(struct elf_file *f, struct cfi **out);
void cfi_free(struct cfi *c);

/*
 * Finds the rules for an address; they live as long as the table. -ENOENT: no entry covers it; -EBADMSG: one does,
 * but it is broken; -ENOSPC: it is long, and much was run already (MAX_RUN in cfi.c), or the table's rules are too many to
 * keep another (cfi_rules.h); -ENOMEM.
 */
int cfi_rules_at(struct cfi *c, uint64_t address, const struct cfi_rules **out);

/*
 * The same by running the instructions (cfi_program.h), without the rows kept; also tells where the row begins and
 * ends. Its expressions stay until the next lookup.
 */
int cfi_find(struct cfi *c, uint64_t address, struct cfi_row *out);

/* The first function that starts at or above `address`. False: none. */
bool cfi_next_function(struct cfi *c, uint64_t address, uint64_t *start);

/* Bytes of index, rows, rules, and what was read of the sections; sections loaded as a whole count as their file's. */
size_t cfi_memory(const struct cfi *c);

#endif
