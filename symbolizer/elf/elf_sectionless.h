/*
 * Files whose section headers were cut off (sstrip, llvm-strip --strip-sections, packers): the loader needs none, and
 * what it goes by, the segments, leads to the same tables. PT_DYNAMIC to .dynsym and .dynstr (how many symbols there
 * are is told by DT_GNU_HASH or DT_HASH alone), PT_GNU_EH_FRAME to .eh_frame_hdr and that to .eh_frame, whose
 * end is not told: it goes to its segment's end, and ends before at an entry of length 0.
 */
#ifndef SYMBOLIZER_ELF_SECTIONLESS_H
#define SYMBOLIZER_ELF_SECTIONLESS_H

#include "symbolizer/elf/elf_file.h"

/*
 * Gives a file that has no section headers some for these sections, which all else can then find by name and type.
 * They are in no way like those that the file once had: no index of a symbol leads to one. 0, also when there is
 * nothing to be found; -ENOMEM.
 */
int elf_sectionless_fill(struct elf_file *f);

#endif
