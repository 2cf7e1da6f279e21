/*
 * Relocatable files, such as kernel modules: gives their sections addresses, and applies relocations when a section
 * is loaded.
 */
#ifndef SYMBOLIZER_ELF_RELOCATE_H
#define SYMBOLIZER_ELF_RELOCATE_H

#include "symbolizer/elf/elf_file.h"

/*
 * Gives each section that is in memory the address that `address_of` returns for its name (0: it is not there). Call
 * it before any section is loaded. -EINVAL: not a relocatable file.
 */
int elf_relocate_place(struct elf_file *f, uint64_t (*address_of)(const char *name, void *context),
                       void *context);

/*
 * The same for a file that is loaded nowhere: its sections get addresses one after the other, all of them high, and
 * so do those that are empty in debug files (SHT_NOBITS).
 */
int elf_relocate_lay_out(struct elf_file *f);

/*
 * For elf_section.c: applies what SHT_RELA says of section `index` to its content. Entries of types that debug
 * information does not use, or that point outside, are skipped.
 */
void elf_relocate_section(struct elf_file *f, uint32_t index, uint8_t *data, size_t len);

/* Does that section have relocations, and they a symbol table? */
bool elf_relocate_needed(const struct elf_file *f, uint32_t index);

#endif
