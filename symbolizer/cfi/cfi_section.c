/* Loads .eh_frame and .debug_frame block by block, as entries are asked for. */

#include "symbolizer/cfi/cfi_section.h"

#include <stdlib.h>
#include <sys/mman.h>

#define BLOCK 4096

static size_t n_blocks(const struct cfi_section *s)
{
	return (s->len + BLOCK - 1) / BLOCK;
}

/* Address space for all of it; the kernel gives memory for what is read into it. */
static bool reserve(struct cfi_section *s, struct elf_file *f, const struct elf_section *section,
                    uint64_t offset)
{
	void *space = mmap(NULL, section->len, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (space == MAP_FAILED)
		return false;
	s->len = section->len;
	s->blocks = calloc(n_blocks(s), 1);
	if (!s->blocks) {
		munmap(space, s->len);
		return false;
	}
	s->data = space;
	s->file = f;
	s->offset = offset;
	return true;
}

void cfi_section_open(struct cfi_section *s, struct elf_file *f, const char *name)
{
	struct elf_section section;
	uint64_t offset;

	if (!elf_file_section_place(f, name, &section, &offset) && section.len) {
		if (!reserve(s, f, &section, offset))
			return;
	} else if (!elf_file_section(f, name, &section)) {
		s->data = section.data;
		s->len = section.len;
	} else {
		return;
	}
	s->address = section.address;
	s->is_eh = name[1] == 'e';
}

void cfi_section_close(struct cfi_section *s)
{
	if (s->file)
		munmap((void *)s->data, s->len);
	free(s->blocks);
	*s = (struct cfi_section){ 0 };
}

bool cfi_section_need(struct cfi_section *s, uint64_t offset, uint64_t len)
{
	size_t block, at, part;

	if (!s->file || offset >= s->len || !len)
		return true;
	if (len > s->len - offset)
		len = s->len - offset;
	for (block = offset / BLOCK; block <= (offset + len - 1) / BLOCK; block++) {
		if (s->blocks[block])
			continue;
		at = block * BLOCK;
		part = s->len - at < BLOCK ? s->len - at : BLOCK;
		if (elf_file_read(s->file, s->offset + at, (uint8_t *)s->data + at, part))
			return false;
		s->blocks[block] = 1;
		s->loaded += part;
	}
	return true;
}

size_t cfi_section_memory(const struct cfi_section *s)
{
	return s->file ? s->loaded + n_blocks(s) : 0;
}
