/*
 * Relocatable files, which kernel modules are: their sections get addresses, and what refers to those is put
 * right when a section is loaded.
 */
#ifndef SYMBOLIZER_ELF_RELOCATE_H
#define SYMBOLIZER_ELF_RELOCATE_H

#include "symbolizer/elf/elf_file.h"

/*
 * Gives each section that is in memory the address that `address_of` answers for its name (0: it is not
 * there), before any section is loaded. -EINVAL: not a relocatable file.
 */
int elf_relocate_place(struct elf_file *f, uint64_t (*address_of)(const char *name, void *context),
                       void *context);

/*
 * The same for a file that is loaded nowhere: its sections get addresses one after the other, none of them low
 * ones, those that stand empty in debug files (SHT_NOBITS) too.
 */
int elf_relocate_lay_out(struct elf_file *f);

/*
 * For elf_section.c: applies what SHT_RELA says of section `index` to its content. Entries of kinds that debug
 * information does not use, or that point outside, are passed over.
 */
void elf_relocate_section(struct elf_file *f, uint32_t index, uint8_t *data, size_t len);

/* Does anything have to be applied to that section? */
bool elf_relocate_needed(const struct elf_file *f, uint32_t index);

#endif
