/* Opens an ELF file: reads its headers, segments and table of sections. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/regular_file.h"
#include "symbolizer/elf/elf_file_state.h"
#include "symbolizer/elf/elf_sectionless.h"

#define MAX_SECTIONS (1 << 20)

/* Linux runs no program with more than 64 KiB of program headers (load_elf_phdrs() in fs/binfmt_elf.c). */
#define MAX_SEGMENTS (65536 / sizeof(Elf64_Phdr))

static int read_header(struct elf_file *f)
{
	struct elf_bytes bytes = elf_file_bytes(f);
	int err = elf_bytes_header(&bytes, &f->ehdr);

	return err == -ENOEXEC ? -EBADMSG : err;
}

static int compare_code(const void *a, const void *b)
{
	const struct elf_code *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* It is asked of each symbol, each range, each function whether it is code. */
static int sort_code(struct elf_file *f)
{
	const struct elf_segment *s;
	struct elf_code *code = calloc(f->n_segments + 1, sizeof(*code));
	size_t i, n = 0;

	if (!code)
		return -ENOMEM;
	f->code = code;
	for (i = 0; i < f->n_segments; i++) {
		s = &f->segments[i];
		if (!s->executable || !s->memory_size)
			continue;
		code[n] = (struct elf_code){ s->vaddr, s->vaddr + (s->memory_size - 1) };
		if (code[n].last < s->vaddr)
			code[n].last = UINT64_MAX;
		n++;
	}
	qsort(code, n, sizeof(*code), compare_code);
	for (i = 0; i < n; i++) {
		if (!f->n_code || code[i].first > code[f->n_code - 1].last)
			code[f->n_code++] = code[i];
		else if (code[i].last > code[f->n_code - 1].last)
			code[f->n_code - 1].last = code[i].last;
	}
	return 0;
}

static int read_segments(struct elf_file *f)
{
	struct elf_bytes bytes = elf_file_bytes(f);
	size_t i;
	int err = elf_bytes_segments(&bytes, &f->ehdr, MAX_SEGMENTS, &f->phdrs, &f->n_phdrs);

	if (err || !f->n_phdrs)
		return err;
	f->memory += f->n_phdrs * sizeof(*f->phdrs);
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
	return sort_code(f);
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

static int find_sections(struct elf_file *f)
{
	f->n_unread = count_sections(f);
	f->lost_sections = !f->n_unread && f->ehdr.e_shoff;
	return f->n_unread ? 0 : elf_sectionless_fill(f);
}

/* Files are never constant objects; only what is known of this one changes. */
int elf_file_need_sections(const struct elf_file *file)
{
	struct elf_file *f = (struct elf_file *)file;
	struct elf_bytes bytes = elf_file_bytes(f);
	size_t len = f->n_unread * sizeof(*f->shdrs);
	void *table;
	int err;

	if (!f->n_unread)
		return 0;
	err = elf_bytes_copy(&bytes, f->ehdr.e_shoff, len, &table);
	if (err)
		return err;
	f->loaded = calloc(f->n_unread + 1, sizeof(*f->loaded));
	if (!f->loaded) {
		free(table);
		return -ENOMEM;
	}
	f->shdrs = table;
	f->memory += len;
	f->n_shdrs = f->n_unread;
	f->n_unread = 0;
	return 0;
}

static int read_tables(struct elf_file *f)
{
	int err = read_header(f);

	if (!err)
		err = read_segments(f);
	if (!err)
		err = find_sections(f);
	return err;
}

static int read_head(struct elf_file *f)
{
	struct elf_bytes bytes = elf_file_bytes(f);
	size_t len = f->size < HEAD_BYTES ? f->size : HEAD_BYTES;
	int err = elf_bytes_read(&bytes, 0, f->head, len);

	f->head_len = err ? 0 : len;
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
	f->dev = st->st_dev;
	f->owner = st->st_uid;
	f->has_owner = !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int open_known(int fd, const struct stat *st, bool trusted, size_t max_bytes, struct elf_file **out)
{
	struct elf_file *f = calloc(1, sizeof(*f));
	int err = 0;

	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	f->fd = fd;
	f->max_bytes = max_bytes;
	if (!S_ISREG(st->st_mode) || st->st_size < (off_t)sizeof(Elf64_Ehdr))
		err = -EBADMSG;
	else
		note_origin(f, st);
	if (!err)
		err = trusted && regular_file_keeps_pages(fd) ? map_whole(f) : read_head(f);
	return finish_open(f, err, out);
}

int elf_file_open_known(int fd, const struct stat *st, size_t max_bytes, struct elf_file **out)
{
	return open_known(fd, st, false, max_bytes, out);
}

int elf_file_open(int fd, bool trusted, size_t max_bytes, struct elf_file **out)
{
	struct stat st;
	int err;

	if (!fstat(fd, &st))
		return open_known(fd, &st, trusted, max_bytes, out);
	err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
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
