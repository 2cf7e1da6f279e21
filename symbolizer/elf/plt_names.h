/*
 * Names of the procedure linkage table: code that jumps to a function of another file, which has no symbol of its
 * own, is called "function@plt".
 *
 * Of .plt, .plt.sec and .plt.got (x86-64, with or without -fcf-protection): the jump goes through a slot of the GOT,
 * the slot has a relocation, and the relocation names the function. A lazy .plt that only pushes the relocation's
 * number is named by that. For an ifunc of this file, the relocation has the address of its resolver, which has the
 * ifunc's name.
 */
#ifndef SYMBOLIZER_PLT_NAMES_H
#define SYMBOLIZER_PLT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/elf/elf_file.h"

struct plt_names;

struct plt_name {
	uint64_t start, end;
	const char *name; /* lives as long as the table */
};

/*
 * `function_at` names what starts at an address (an ifunc's resolver), NULL if nothing does. 0, also for a file that
 * has no such table (*out is NULL then); -ENOMEM. The file need not stay open.
 */
int plt_names_new(struct elf_file *f, const char *(*function_at)(void *context, uint64_t address),
                  void *context, struct plt_names **out);
void plt_names_free(struct plt_names *p);

/* NULL: there is none. */
const struct plt_name *plt_names_find(const struct plt_names *p, uint64_t address);
size_t plt_names_memory(const struct plt_names *p);

#endif
