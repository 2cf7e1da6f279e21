/*
 * The bytes of .eh_frame or .debug_frame. A file that is read rather than mapped is read here entry by entry, as they
 * are asked for: libtorch_cpu.so has 18 MB of .eh_frame, of which the functions on stacks need few, and each page of
 * memory that a first walk touches costs it more than to read a page of the file.
 */
#ifndef SYMBOLIZER_CFI_SECTION_H
#define SYMBOLIZER_CFI_SECTION_H

#include "symbolizer/cfi/cfi_arch.h"
#include "symbolizer/elf/elf_file.h"

/* What bytes are for: those of a CIE stay while those of an FDE are read, and the other way round. */
enum cfi_use { CFI_FOR_FDE, CFI_FOR_CIE };

/*
 * More than this is not read for one FDE or CIE, whatever its length says. The longest of 7,374 sections of a
 * developer's host are 33,676 bytes (librustc_driver.so) and 52 bytes; libcufft.so.12 has an FDE of 60,768.
 */
#define CFI_MAX_FDE_BYTES ((size_t)256 << 10)
#define CFI_MAX_CIE_BYTES ((size_t)4 << 10)

/* Spans of the buffer: the FDE's, and two of CIEs, as C++ has functions of two kinds. */
#define CFI_SPANS 3

struct cfi_span {
	size_t at, room; /* in the buffer */
	uint64_t offset; /* in the section, of the `len` bytes that are there */
	size_t len;
};

struct cfi_section {
	const struct cfi_arch *arch;
	const uint8_t
	        *data; /* NULL: there is none; else all of it, or, with `file`, what was read last of it */
	size_t len;
	uint64_t address; /* where it is in memory, for pc-relative pointers */
	bool is_eh;

	struct elf_file *file; /* from which it is read when needed; NULL: all of it is in `data` */
	uint64_t offset;       /* in `file` */
	uint8_t *buffer;
	struct cfi_span have[CFI_SPANS];
	unsigned int next_cie; /* which of them the next CIE gets */
	uint32_t moves; /* how often the buffer has been replaced by a bigger one, and nothing stayed in it */
};

/* A part of a section. */
struct cfi_bytes {
	const uint8_t *data;
	size_t len;
	uint64_t offset, address; /* of the first one, in the section and in memory */
};

/*
 * Fills a section, zeroed except for `arch`, from a file, which must stay open as long. Without such a section,
 * or when it can't be read, `data` stays NULL. Call cfi_section_close() in any case.
 */
void cfi_section_open(struct cfi_section *s, struct elf_file *f, const char *name);

/* The same for an .eh_frame that is known to be at `offset` of the file; of `place` address and length are used. */
void cfi_section_open_at(struct cfi_section *s, struct elf_file *f, const struct elf_section *place,
                         uint64_t offset);
void cfi_section_close(struct cfi_section *s);

/*
 * The bytes around `offset`, and `len` from there on, or all that the section has there. They stay until the next
 * call for the same use, and while s->moves stays what it is. False: they can't be read, or `len` is more than the use
 * may have.
 */
bool cfi_section_bytes(struct cfi_section *s, enum cfi_use use, uint64_t offset, uint64_t len,
                       struct cfi_bytes *out);

/* Bytes held here; those of sections that are there as a whole are the file's. */
size_t cfi_section_memory(const struct cfi_section *s);

#endif
