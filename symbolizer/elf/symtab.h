/*
 * The functions of an ELF file by its symbol tables: .symtab of the debug file or of the file itself, else
 * .dynsym. (.gnu_debugdata holds an ELF file whose .symtab has what .dynsym lacks; that gets a second table.)
 *
 * Functions are symbols of type FUNC, GNU_IFUNC (the resolver has that type, too) and, as assemblers leave them,
 * NOTYPE in code, except those that begin with "$" or ".L".
 *
 * Which name, when several share an address: the first of these rules that tells them apart.
 *	1. functions before labels (NOTYPE)
 *	2. with a size before without
 *	3. global and weak before local (weak is no less than global: libc's write is weak, its __write is not)
 *	4. fewer leading underscores
 *	5. the shorter, then the alphabetically first
 *
 * Which symbol, when several hold an address: the one that begins last. A symbol without a size counts only outside
 * those that have one, and ends at the next symbol or at its section's end.
 *
 * Code of the procedure linkage table, which has no symbols, is named by plt_names.h.
 */
#ifndef SYMBOLIZER_SYMTAB_H
#define SYMBOLIZER_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/elf/elf_file.h"

struct symtab;

struct symtab_hit {
	const char *name; /* lives as long as the table and its files */
	uint64_t start, end;
	bool unsized; /* the file does not say where it ends: the address may be another function's */
};

/*
 * `debug` may be NULL. Both files must stay open as long as the table. -ENOENT: neither has a function or a PLT;
 * -EBADMSG, -EFBIG as elf_file_section(); -EFBIG also where the names, as many symbols share them, would take too long.
 */
int symtab_new(struct elf_file *f, struct elf_file *debug, struct symtab **out);
void symtab_free(struct symtab *t);

/* Was it read from .dynsym, for want of a .symtab? */
bool symtab_is_dynamic(const struct symtab *t);

bool symtab_find(const struct symtab *t, uint64_t address, struct symtab_hit *hit);

/* Looks for one symbol by its name in .symtab. -ENOENT: there is none. */
int symtab_address(struct elf_file *f, const char *name, uint64_t *address);
size_t symtab_memory(const struct symtab *t);

#endif
