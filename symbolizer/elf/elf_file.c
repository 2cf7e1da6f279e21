/* An open ELF file: reads bytes by offset and address, and answers questions about its segments. */

#include "symbolizer/elf/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/base/file_gate.h"
#include "symbolizer/base/search.h"
#include "symbolizer/elf/elf_file_state.h"

int elf_file_read(const struct elf_file *f, uint64_t offset, void *buffer, size_t len)
{
	struct elf_bytes bytes = elf_file_bytes(f);

	return elf_bytes_read(&bytes, offset, buffer, len);
}

int elf_file_read_at(const struct elf_file *f, uint64_t address, void *buffer, size_t len)
{
	size_t n, i;
	const struct elf_segment *segments = elf_file_segments(f, &n);

	for (i = 0; i < n; i++) {
		uint64_t offset = address - segments[i].vaddr;

		if (address >= segments[i].vaddr && offset < segments[i].file_size &&
		    len <= segments[i].file_size - offset)
			return elf_file_read(f, segments[i].offset + offset, buffer, len);
	}
	return -EBADMSG;
}

void elf_file_close(struct elf_file *f)
{
	size_t i;

	if (!f)
		return;
	for (i = 0; f->loaded && i < f->n_shdrs; i++)
		free(f->loaded[i].owned);
	free(f->loaded);
	free(f->segments);
	free(f->code);
	free(f->phdrs);
	free(f->shdrs);
	if (f->mapped)
		munmap((void *)f->image, f->size);
	free(f->owned_image);
	if (f->fd >= 0)
		file_gate_close(f->fd);
	free(f);
}

bool elf_file_origin(const struct elf_file *f, uint64_t *size, uint64_t *owner)
{
	*size = f->size;
	*owner = f->owner;
	return f->has_owner;
}

bool elf_file_answers(const struct elf_file *f)
{
	return file_gate_fd(f->fd, f->dev);
}

void elf_file_detach(struct elf_file *f)
{
	if (f->fd >= 0)
		file_gate_close(f->fd);
	f->fd = -1;
}

void elf_file_forget_pages(const struct elf_file *f)
{
	if (f->mapped)
		madvise((void *)f->image, f->size, MADV_DONTNEED);
}

const struct elf_segment *elf_file_segments(const struct elf_file *f, size_t *n)
{
	*n = f->n_segments;
	return f->segments;
}

bool elf_file_lost_sections(const struct elf_file *f)
{
	return f->lost_sections;
}

uint16_t elf_file_type(const struct elf_file *f)
{
	return f->ehdr.e_type;
}

uint16_t elf_file_machine(const struct elf_file *f)
{
	return f->ehdr.e_machine;
}

bool elf_file_notes(const struct elf_file *f, size_t *next, uint64_t *offset, uint64_t *len)
{
	size_t i;

	for (; *next < f->n_phdrs; ++*next) {
		if (f->phdrs[*next].p_type != PT_NOTE)
			continue;
		*offset = f->phdrs[*next].p_offset;
		*len = f->phdrs[*next].p_filesz;
		++*next;
		return true;
	}
	elf_file_need_sections(f);
	for (; *next - f->n_phdrs < f->n_shdrs; ++*next) {
		i = *next - f->n_phdrs;
		if (f->shdrs[i].sh_type != SHT_NOTE)
			continue;
		*offset = f->shdrs[i].sh_offset;
		*len = f->shdrs[i].sh_size;
		++*next;
		return true;
	}
	return false;
}

size_t elf_file_memory(const struct elf_file *f)
{
	return f->memory;
}

/* The loader maps whole pages, so a segment's first page holds what lies before it in the file, too. */
bool elf_file_address(const struct elf_file *f, uint64_t offset, uint64_t *address)
{
	const struct elf_segment *s, *best = NULL;
	size_t i;

	for (i = 0; i < f->n_segments; i++) {
		s = &f->segments[i];
		if (offset < (s->offset & ~(uint64_t)4095) ||
		    offset - s->offset + 4096 >= s->file_size + 8192)
			continue;
		if (!best || (s->executable && !best->executable) ||
		    (s->executable == best->executable && offset >= s->offset &&
		     offset - s->offset < s->file_size))
			best = s;
	}
	if (!best)
		return false;
	*address = offset - best->offset + best->vaddr;
	return true;
}

bool elf_file_executable(const struct elf_file *f, uint64_t address)
{
	size_t behind = search_past(i, 0, f->n_code, f->code[i].first <= address);

	return behind ? address <= f->code[behind - 1].last : !f->n_segments;
}
