#include "symbolizer/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/elf_file_state.h"
#include "symbolizer/elf_sectionless.h"

#define MAX_SECTIONS (1 << 20)

int elf_file_read(const struct elf_file *f, uint64_t offset, void *buffer, size_t len)
{
	size_t done = 0;
	ssize_t got;

	if (!elf_file_within(f, offset, len))
		return -EBADMSG;
	if (f->image) {
		memcpy(buffer, f->image + offset, len);
		return 0;
	}
	while (done < len) {
		got = pread(f->fd, (char *)buffer + done, len - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -EBADMSG;
		done += (size_t)got;
	}
	return 0;
}

/* A table of `n` headers of `size` bytes. */
static int read_table(struct elf_file *f, uint64_t offset, size_t n, size_t size, void **out)
{
	uint64_t len = (uint64_t)n * size;
	int err;

	if (!elf_file_within(f, offset, len))
		return -EBADMSG;
	*out = malloc(len + 1);
	if (!*out)
		return -ENOMEM;
	err = elf_file_read(f, offset, *out, len);
	if (!err)
		f->memory += len;
	return err;
}

static int read_header(struct elf_file *f)
{
	int err = elf_file_read(f, 0, &f->ehdr, sizeof(f->ehdr));

	if (err)
		return err;
	if (memcmp(f->ehdr.e_ident, ELFMAG, SELFMAG) != 0 || f->ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    f->ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return -EBADMSG;
	return 0;
}

static int read_segments(struct elf_file *f)
{
	size_t i;
	int err;

	if (!f->ehdr.e_phnum)
		return 0;
	if (f->ehdr.e_phentsize != sizeof(Elf64_Phdr))
		return -EBADMSG;
	err = read_table(f, f->ehdr.e_phoff, f->ehdr.e_phnum, sizeof(Elf64_Phdr), (void **)&f->phdrs);
	if (err)
		return err;
	f->n_phdrs = f->ehdr.e_phnum;
	f->segments = calloc(f->n_phdrs, sizeof(*f->segments));
	if (!f->segments)
		return -ENOMEM;
	for (i = 0; i < f->n_phdrs; i++) {
		const Elf64_Phdr *p = &f->phdrs[i];

		if (p->p_type != PT_LOAD)
			continue;
		f->segments[f->n_segments++] = (struct elf_segment){ .vaddr = p->p_vaddr,
			                                             .offset = p->p_offset,
			                                             .file_size = p->p_filesz,
			                                             .memory_size = p->p_memsz,
			                                             .executable = p->p_flags & PF_X };
	}
	return 0;
}

/* 0: there is no such table, or it lies outside the file, which runs none the less. */
static uint64_t count_sections(const struct elf_file *f)
{
	uint64_t n = f->ehdr.e_shnum;
	Elf64_Shdr first;

	if (!f->ehdr.e_shoff || f->ehdr.e_shentsize != sizeof(Elf64_Shdr))
		return 0;
	if (!n && !elf_file_read(f, f->ehdr.e_shoff, &first, sizeof(first)))
		n = first.sh_size;
	return n <= MAX_SECTIONS && elf_file_within(f, f->ehdr.e_shoff, n * sizeof(Elf64_Shdr)) ? n : 0;
}

static int read_sections(struct elf_file *f)
{
	uint64_t n = count_sections(f);
	int err;

	f->lost_sections = !n && f->ehdr.e_shoff;
	if (!n)
		return elf_sectionless_fill(f);
	err = read_table(f, f->ehdr.e_shoff, n, sizeof(Elf64_Shdr), (void **)&f->shdrs);
	if (err)
		return err;
	f->n_shdrs = n;
	f->loaded = calloc(n + 1, sizeof(*f->loaded));
	return f->loaded ? 0 : -ENOMEM;
}

static int read_tables(struct elf_file *f)
{
	int err = read_header(f);

	if (!err)
		err = read_segments(f);
	if (!err)
		err = read_sections(f);
	return err;
}

static int map_whole(struct elf_file *f)
{
	void *image = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, f->fd, 0);

	if (image == MAP_FAILED)
		return -errno;
	f->image = image;
	f->mapped = true;
	close(f->fd);
	f->fd = -1;
	return 0;
}

static int finish_open(struct elf_file *f, int err, struct elf_file **out)
{
	if (!err)
		err = read_tables(f);
	if (err) {
		elf_file_close(f);
		return err;
	}
	*out = f;
	return 0;
}

static void note_origin(struct elf_file *f, const struct stat *st)
{
	f->size = (uint64_t)st->st_size;
	f->owner = st->st_uid;
	f->has_owner = !(st->st_mode & (S_IWGRP | S_IWOTH));
}

int elf_file_open(int fd, bool trusted, size_t max_bytes, struct elf_file **out)
{
	struct elf_file *f = calloc(1, sizeof(*f));
	struct stat st;
	int err = 0;

	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	f->fd = fd;
	f->max_bytes = max_bytes;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		err = -EBADMSG;
	else
		note_origin(f, &st);
	if (!err && trusted)
		err = map_whole(f);
	return finish_open(f, err, out);
}

int elf_file_open_image(const void *image, size_t len, size_t max_bytes, struct elf_file **out)
{
	struct elf_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->fd = -1;
	f->image = image;
	f->size = len;
	f->max_bytes = max_bytes;
	return finish_open(f, 0, out);
}

int elf_file_open_owned(void *image, size_t len, size_t max_bytes, struct elf_file **out)
{
	int err = elf_file_open_image(image, len, max_bytes, out);

	if (err) {
		free(image);
		return err;
	}
	(*out)->owned_image = image;
	(*out)->memory += len;
	return 0;
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
	free(f->phdrs);
	free(f->shdrs);
	if (f->mapped)
		munmap((void *)f->image, f->size);
	free(f->owned_image);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

bool elf_file_origin(const struct elf_file *f, uint64_t *size, uint64_t *owner)
{
	*size = f->size;
	*owner = f->owner;
	return f->has_owner;
}

void elf_file_detach(struct elf_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
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

bool elf_file_notes(const struct elf_file *f, size_t i, uint64_t *offset, uint64_t *len)
{
	size_t j;

	for (j = 0; j < f->n_shdrs; j++) {
		if (f->shdrs[j].sh_type == SHT_NOTE && !i--) {
			*offset = f->shdrs[j].sh_offset;
			*len = f->shdrs[j].sh_size;
			return true;
		}
	}
	for (j = 0; j < f->n_phdrs; j++) {
		if (f->phdrs[j].p_type == PT_NOTE && !i--) {
			*offset = f->phdrs[j].p_offset;
			*len = f->phdrs[j].p_filesz;
			return true;
		}
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
	size_t i;

	for (i = 0; i < f->n_segments; i++)
		if (f->segments[i].executable && address - f->segments[i].vaddr < f->segments[i].memory_size)
			return true;
	return !f->n_segments;
}
