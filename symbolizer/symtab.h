/*
 * The functions of an ELF file by its symbol tables: .symtab of the debug file or of the file itself, else
 * .dynsym. (.gnu_debugdata holds an ELF file whose .symtab has what .dynsym lacks: a table of its own.)
 *
 * Which name, when several share an address: functions before labels, with a size before without, global and
 * weak before local, then fewer leading underscores, then the shorter, then the alphabetically first.
 */
#ifndef SYMBOLIZER_SYMTAB_H
#define SYMBOLIZER_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/elf_file.h"

struct symtab;

struct symtab_hit {
	const char *name; /* in the file's string table: lives as long as the files do */
	uint64_t start, end;
};

/*
 * `debug` may be NULL. Both files must stay open as long as the table. -ENOENT: neither has a function;
 * -EBADMSG, -EFBIG as elf_file_section().
 */
int symtab_new(struct elf_file *f, struct elf_file *debug, struct symtab **out);
void symtab_free(struct symtab *t);

/* Has it only what the dynamic linker needs, for want of a .symtab? */
bool symtab_is_dynamic(const struct symtab *t);

bool symtab_find(const struct symtab *t, uint64_t address, struct symtab_hit *hit);

/* Looks for one symbol by its name in .symtab. -ENOENT: there is none. */
int symtab_address(struct elf_file *f, const char *name, uint64_t *address);
size_t symtab_memory(const struct symtab *t);

#endif
