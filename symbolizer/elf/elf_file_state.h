/* What a `struct elf_file` is made of: for elf_file.c and elf_section.c. */
#ifndef SYMBOLIZER_ELF_FILE_STATE_H
#define SYMBOLIZER_ELF_FILE_STATE_H

#include <elf.h>

#include "symbolizer/elf/elf_bytes.h"
#include "symbolizer/elf/elf_file.h"

struct loaded {
	uint8_t *owned; /* NULL: `data` points into the image */
	const uint8_t *data;
	size_t len;
	size_t holders;   /* calls that got it and have not given it back */
	bool is_constant; /* never released */
};

/* Linkers put the headers and most notes here: read at once, as each call of the kernel takes a first walk's time. */
#define HEAD_BYTES 1024

/* Addresses that are executable. */
struct elf_code {
	uint64_t first, last;
};

struct elf_file {
	int fd;               /* -1: image */
	const uint8_t *image; /* NULL: read by fd */
	bool mapped;
	void *owned_image; /* to be freed; NULL: not ours */
	bool placed;       /* the sections have addresses: elf_relocate_place() */
	bool lost_sections;
	uint64_t size;
	uint64_t dev; /* its file system */
	uint64_t owner;
	bool has_owner; /* `owner` is known, and nobody else may write to the file */
	size_t max_bytes;
	size_t memory;

	Elf64_Ehdr ehdr;
	Elf64_Phdr *phdrs;
	size_t n_phdrs;
	Elf64_Shdr *shdrs;
	size_t n_shdrs;
	size_t n_unread;       /* sections, whose headers elf_file_need_sections() is to read; else 0 */
	struct loaded *loaded; /* one a section */
	struct elf_segment *segments;
	size_t n_segments;
	struct elf_code *code; /* of the segments: sorted, none overlaps the next */
	size_t n_code;
	uint8_t head[HEAD_BYTES];
	size_t head_len;
};

/*
 * Reads the section headers, if that is still to be done: to unwind they are rarely needed. To be called before
 * shdrs, n_shdrs and loaded are looked at. A file whose headers can't be read has none, and the next call tries again:
 * -errno of reading, -ENOMEM.
 */
int elf_file_need_sections(const struct elf_file *f);

static inline struct elf_bytes elf_file_bytes(const struct elf_file *f)
{
	return (struct elf_bytes){
		.fd = f->fd, .image = f->image, .size = f->size, .head = f->head, .head_len = f->head_len
	};
}

/* Does the file have that many bytes there? */
static inline bool elf_file_within(const struct elf_file *f, uint64_t offset, uint64_t len)
{
	struct elf_bytes bytes = elf_file_bytes(f);

	return elf_bytes_within(&bytes, offset, len);
}

#endif
