/*
 * Files whose section headers were cut off (sstrip, llvm-strip --strip-sections, packers). The loader uses the
 * segments alone, and these lead to the same tables: PT_DYNAMIC to .dynsym and .dynstr (only DT_GNU_HASH or DT_HASH
 * says how many symbols there are), PT_GNU_EH_FRAME to .eh_frame_hdr and that to .eh_frame, which has no length: it
 * ends at its segment's end, or before that at an entry of length 0.
 */
#ifndef SYMBOLIZER_ELF_SECTIONLESS_H
#define SYMBOLIZER_ELF_SECTIONLESS_H

#include "symbolizer/elf/elf_file.h"

/*
 * Makes section headers for these sections in a file that has none, so that they are found by name and type. Their
 * indexes are not those that the file once had: no section index of a symbol is one of them. Returns 0, also when
 * nothing was found; -ENOMEM.
 */
int elf_sectionless_fill(struct elf_file *f);

#endif
