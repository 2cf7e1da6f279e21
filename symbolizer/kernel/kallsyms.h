/*
 * The kernel's own symbol table, /proc/kallsyms: the core kernel, its modules, BPF programs.
 *
 * Which name, when several share an address: the first of these rules that tells them apart.
 *	1. text (t T w W) before anything else
 *	2. no section marker (_text, _stext, __pi_*, *_start, *_begin, *_end, __cfi_*, __pfx_*) before one
 *	3. global before weak before local
 *	4. fewer leading underscores
 *	5. the shorter, then the alphabetically first
 */
#ifndef SYMBOLIZER_KALLSYMS_H
#define SYMBOLIZER_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kallsyms;

struct kallsyms_hit {
	const char *name;     /* lives as long as the table */
	const char *module;   /* "ext4", "bpf"; "" for the core kernel */
	uint64_t start, next; /* of the symbol, of the one after it (UINT64_MAX: none) */
};

/* Reads `path`. -errno of reading; -ENODATA: every address hidden (kptr_restrict) or nothing there. */
int kallsyms_read(const char *path, struct kallsyms **out);

/* The same from memory. */
int kallsyms_parse(const char *text, size_t len, struct kallsyms **out);
void kallsyms_free(struct kallsyms *k);

/* The function that `address` lies in; it starts at the address or up to 1 MiB below. */
bool kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_hit *hit);

/* Address of a core kernel symbol; 0: none. Walks the table. */
uint64_t kallsyms_address(const struct kallsyms *k, const char *name);

/* The lowest and the highest symbol of a module ("" for the core kernel's text). False: no such module. */
bool kallsyms_module_range(const struct kallsyms *k, const char *module, uint64_t *start, uint64_t *end);

size_t kallsyms_count(const struct kallsyms *k);
size_t kallsyms_memory(const struct kallsyms *k);

#endif
