/* Reads an ELF file's header tables with pread(), checking every bound. */

#include "profiler/tracer/elf_headers.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#define CHUNK_BYTES 16384

int elf_headers_bytes(const struct elf_headers *headers, uint64_t offset, void *buffer, size_t len)
{
	return elf_bytes_read(&headers->file, offset, buffer, len);
}

static int read_header(struct elf_headers *h)
{
	Elf64_Ehdr *e = &h->header;
	struct stat st;
	int err;

	if (fstat(h->file.fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(*e))
		return -ENOEXEC;
	h->file.size = (uint64_t)st.st_size;
	err = elf_bytes_header(&h->file, e);
	if (err)
		return err;
	if (e->e_machine != EM_X86_64 || (e->e_type != ET_EXEC && e->e_type != ET_DYN))
		return -ENOEXEC;
	return 0;
}

static int read_section_names(struct elf_headers *h)
{
	const Elf64_Shdr *names;
	void *table;
	int err;

	if (h->header.e_shstrndx >= h->n_sections)
		return 0;
	names = &h->sections[h->header.e_shstrndx];
	if (names->sh_type != SHT_STRTAB || names->sh_size > ELF_HEADERS_NAMES_MAX)
		return -EBADMSG;
	err = elf_bytes_copy(&h->file, names->sh_offset, names->sh_size, &table);
	if (err)
		return err;
	h->section_names = table;
	h->section_names_bytes = names->sh_size;
	return 0;
}

static int read_sections(struct elf_headers *h)
{
	void *table;
	int err;

	if (!h->header.e_shnum || !h->header.e_shoff)
		return 0;
	if (h->header.e_shentsize != sizeof(Elf64_Shdr) || h->header.e_shnum > ELF_HEADERS_SECTIONS_MAX)
		return -EBADMSG;
	err = elf_bytes_copy(&h->file, h->header.e_shoff, h->header.e_shnum * sizeof(Elf64_Shdr), &table);
	if (err)
		return err;
	h->sections = table;
	h->n_sections = h->header.e_shnum;
	return read_section_names(h);
}

int elf_headers_read(int fd, struct elf_headers *out)
{
	int err;

	*out = (struct elf_headers){ .file = { .fd = fd } };
	err = read_header(out);
	if (!err)
		err = elf_bytes_segments(&out->file, &out->header, ELF_HEADERS_SEGMENTS_MAX, &out->segments,
		                         &out->n_segments);
	if (!err)
		err = read_sections(out);
	if (err)
		elf_headers_free(out);
	return err;
}

void elf_headers_free(struct elf_headers *headers)
{
	if (!headers)
		return;
	free(headers->segments);
	free(headers->sections);
	free(headers->section_names);
	*headers = (struct elf_headers){ .file = { .fd = -1 } };
}

const Elf64_Phdr *elf_headers_segment(const struct elf_headers *headers, uint32_t type)
{
	for (size_t i = 0; i < headers->n_segments; i++)
		if (headers->segments[i].p_type == type)
			return &headers->segments[i];
	return NULL;
}

const Elf64_Shdr *elf_headers_section(const struct elf_headers *headers, uint32_t type)
{
	for (size_t i = 0; i < headers->n_sections; i++)
		if (headers->sections[i].sh_type == type)
			return &headers->sections[i];
	return NULL;
}

const char *elf_headers_section_name(const struct elf_headers *headers, const Elf64_Shdr *section)
{
	if (section->sh_name >= headers->section_names_bytes)
		return "";
	return headers->section_names + section->sh_name;
}

int elf_headers_offset_of(const struct elf_headers *headers, uint64_t address, uint64_t *offset)
{
	for (size_t i = 0; i < headers->n_segments; i++) {
		const Elf64_Phdr *load = &headers->segments[i];

		if (load->p_type != PT_LOAD || address < load->p_vaddr ||
		    address - load->p_vaddr >= load->p_filesz)
			continue;
		*offset = address - load->p_vaddr + load->p_offset;
		return 0;
	}
	return -EBADMSG;
}

int elf_headers_section_content(const struct elf_headers *headers, const Elf64_Shdr *section,
                                uint64_t max_bytes, char **out)
{
	void *table;
	int err;

	if (section->sh_size > max_bytes)
		return -EBADMSG;
	err = elf_bytes_copy(&headers->file, section->sh_offset, section->sh_size, &table);
	if (!err)
		*out = table;
	return err;
}

void elf_headers_content_free(char *content)
{
	free(content);
}

int elf_headers_each(const struct elf_headers *headers, const Elf64_Shdr *section, size_t item_bytes,
                     uint64_t max_bytes, int (*each)(const void *item, size_t index, void *context),
                     void *context)
{
	_Alignas(8) char chunk[CHUNK_BYTES];
	size_t per_chunk = sizeof(chunk) / item_bytes;
	uint64_t count = section->sh_size / item_bytes;

	if (section->sh_size > max_bytes)
		return -EBADMSG;
	for (uint64_t done = 0; done < count;) {
		size_t n = count - done < per_chunk ? (size_t)(count - done) : per_chunk;
		int err = elf_headers_bytes(headers, section->sh_offset + done * item_bytes, chunk,
		                            n * item_bytes);

		for (size_t i = 0; i < n && !err; i++)
			err = each(chunk + i * item_bytes, (size_t)(done + i), context);
		if (err)
			return err;
		done += n;
	}
	return 0;
}
