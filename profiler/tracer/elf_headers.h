/*
 * The header tables of an ELF file, read by pread and without trust: for looking at a few bytes of very many
 * files, most of which hold nothing of interest. (symbolizer/elf/elf_file.h is for working with a file's content:
 * it decompresses, relocates and makes up sections where there are none; both read by elf_bytes.h.)
 *
 * 64-bit little-endian x86-64 programs and shared objects only.
 */
#ifndef STALLPROF_PROFILER_ELF_HEADERS_H
#define STALLPROF_PROFILER_ELF_HEADERS_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/elf/elf_bytes.h"

#define ELF_HEADERS_SEGMENTS_MAX 128
#define ELF_HEADERS_SECTIONS_MAX 8192
#define ELF_HEADERS_NAMES_MAX    (1 << 20) /* bytes of section names */

struct elf_headers {
	struct elf_bytes file; /* its descriptor is the caller's, not closed */
	Elf64_Ehdr header;
	Elf64_Phdr *segments;
	size_t n_segments;
	Elf64_Shdr *sections; /* none if the file has been stripped of them */
	size_t n_sections;
	char *section_names; /* NUL-terminated, section_names_bytes and a NUL */
	size_t section_names_bytes;
};

/*
 * Fills `out`, which elf_headers_free() empties again. -ENOEXEC: no ELF file of the kind above; -EBADMSG: it
 * is one, and its tables lie outside it or are larger than the maxima; -ENOMEM; -errno of reading.
 */
int elf_headers_read(int fd, struct elf_headers *out);
void elf_headers_free(struct elf_headers *headers);

/* The first one, or NULL. */
const Elf64_Phdr *elf_headers_segment(const struct elf_headers *headers, uint32_t type);
const Elf64_Shdr *elf_headers_section(const struct elf_headers *headers, uint32_t type);

/* "" when the file does not say. */
const char *elf_headers_section_name(const struct elf_headers *headers, const Elf64_Shdr *section);

/* Reads exactly `len` bytes at `offset` of the file; -EBADMSG when they are not there. */
int elf_headers_bytes(const struct elf_headers *headers, uint64_t offset, void *buffer, size_t len);

/* Where in the file what is loaded at the ELF address `address` lies; -EBADMSG: nowhere. */
int elf_headers_offset_of(const struct elf_headers *headers, uint64_t address, uint64_t *offset);

/*
 * A section's content and a NUL behind it, to be freed by elf_headers_content_free(). -EBADMSG: it lies
 * outside the file, or is larger than max_bytes.
 */
int elf_headers_section_content(const struct elf_headers *headers, const Elf64_Shdr *section,
                                uint64_t max_bytes, char **out);
void elf_headers_content_free(char *content);

/*
 * Calls `each` for a section's content, item_bytes at a time (≤ 64); stops early, with its answer, when that
 * is not 0. -EBADMSG: the section lies outside the file, or is larger than max_bytes.
 */
int elf_headers_each(const struct elf_headers *headers, const Elf64_Shdr *section, size_t item_bytes,
                     uint64_t max_bytes, int (*each)(const void *item, size_t index, void *context),
                     void *context);

#endif
