/*
 * The bytes of .eh_frame or .debug_frame. A file that is read rather than mapped is read here block by block, as
 * entries are asked for: libtorch_cpu.so has 18 MB of .eh_frame, of which the functions on stacks need few.
 */
#ifndef SYMBOLIZER_CFI_SECTION_H
#define SYMBOLIZER_CFI_SECTION_H

#include "symbolizer/cfi/cfi_arch.h"
#include "symbolizer/elf/elf_file.h"

struct cfi_section {
	const struct cfi_arch *arch;
	const uint8_t *data; /* NULL: there is none; what cfi_section_need() was not asked for may be zeros */
	size_t len;
	uint64_t address; /* where it is in memory, for pc-relative pointers */
	bool is_eh;

	struct elf_file *file; /* whose blocks are read when needed; NULL: all of `data` is there */
	uint64_t offset;       /* of the section in `file` */
	uint8_t *blocks;       /* one byte a block: has it been read? */
	size_t loaded;         /* bytes */
};

/*
 * Fills a section, zeroed except for `arch`, from a file, which must stay open as long. Without such a section, or
 * when it can't be read, `data` stays NULL. Call cfi_section_close() in any case.
 */
void cfi_section_open(struct cfi_section *s, struct elf_file *f, const char *name);
void cfi_section_close(struct cfi_section *s);

/* Reads these bytes, as far as the section has them, unless they have been read. False: they can't be read. */
bool cfi_section_need(struct cfi_section *s, uint64_t offset, uint64_t len);

/* Bytes held here; those of sections that are there as a whole are the file's. */
size_t cfi_section_memory(const struct cfi_section *s);

#endif
