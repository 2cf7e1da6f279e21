/*
 * One ELF file, read without trust: nothing in it can make these functions read outside it, and a file that
 * shrinks or changes while it is open costs wrong bytes at worst.
 *
 * 64-bit little-endian only. A file that others may write is read by pread into memory of our own (a mapping
 * would raise SIGBUS when it is truncated), and so is one of a file system that may not answer, or lose it; one that is
 * trusted, such as those in /usr/lib/debug, and keeps its pages (regular_file_keeps_pages()) is mapped.
 */
#ifndef SYMBOLIZER_ELF_FILE_H
#define SYMBOLIZER_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct elf_file;

/* A PT_LOAD. */
struct elf_segment {
	uint64_t vaddr, offset, file_size, memory_size;
	bool executable;
};

struct elf_section {
	const uint8_t *data; /* lives until elf_file_close() or elf_file_release_all(), or is given back */
	size_t len;
	uint64_t address;
	uint32_t index, type, link;
};

/*
 * Takes `fd` in any case. Sections larger than max_bytes are refused when asked for. -EBADMSG: not such an ELF file,
 * or its program headers lie outside it or are more than Linux takes, 64 KiB; else -errno of reading. Without (usable) section headers it has the sections
 * that its segments lead to (elf_sectionless.h).
 */
int elf_file_open(int fd, bool trusted, size_t max_bytes, struct elf_file **out);

/* The same for a file that the caller has called fstat() for, and that is read, not mapped. */
int elf_file_open_known(int fd, const struct stat *st, size_t max_bytes, struct elf_file **out);

/* The same from memory that outlives it, such as the vDSO's image. */
int elf_file_open_image(const void *image, size_t len, size_t max_bytes, struct elf_file **out);

/* The same from memory got by malloc, which it frees in the end, or at once on an error. */
int elf_file_open_owned(void *image, size_t len, size_t max_bytes, struct elf_file **out);
void elf_file_close(struct elf_file *f);

/* Whether its file system answers now, so that more of it can be read (file_gate.h). */
bool elf_file_answers(const struct elf_file *f);

/* Closes the descriptor, if any: what has been loaded stays, nothing more can be loaded. */
void elf_file_detach(struct elf_file *f);

const struct elf_segment *elf_file_segments(const struct elf_file *f, size_t *n);
/* Does the ELF header point to section headers that are not in the file? */
bool elf_file_lost_sections(const struct elf_file *f);

uint16_t elf_file_type(const struct elf_file *f);    /* ET_* */
uint16_t elf_file_machine(const struct elf_file *f); /* EM_* */

/* The ELF address at which `offset` of the file is mapped. False: no segment holds it. */
bool elf_file_address(const struct elf_file *f, uint64_t offset, uint64_t *address);

/* Is the address in an executable segment (or, in files without segments, anything)? */
bool elf_file_executable(const struct elf_file *f, uint64_t address);

/*
 * Loads a section on first use, decompressed where need be (".debug_x" finds ".zdebug_x", too). -ENOENT: no
 * such section, or one without content in this file; -EBADMSG, -EFBIG, -ENOTSUP, -errno of reading. Whoever needs the content
 * no more may give it back (elf_file_release()).
 */
int elf_file_section(struct elf_file *f, const char *name, struct elf_section *out);

/* The same, but the next one called so behind the index `after`: relocatable files may have many of one name. */
int elf_file_section_after(struct elf_file *f, const char *name, uint32_t after, struct elf_section *out);

/*
 * Where a section is in the file, however large, for callers that read it in parts by elf_file_read(); out->data is NULL. -ENOTSUP:
 * it has to be loaded (it is compressed or has relocations), or is in memory already; else as elf_file_section().
 */
int elf_file_section_place(struct elf_file *f, const char *name, struct elf_section *out, uint64_t *offset);
int elf_file_section_of_type(struct elf_file *f, uint32_t type, struct elf_section *out);
int elf_file_section_at(struct elf_file *f, uint32_t index, struct elf_section *out);

/* One more than the largest index of a section. */
uint32_t elf_file_section_count(const struct elf_file *f);

/* Address range of a section as its header has it, loaded or not. False: no such index, or not in memory. */
bool elf_file_section_range(const struct elf_file *f, uint32_t index, uint64_t *start, uint64_t *end);

/* The same by name. False: no section in memory is called that. */
bool elf_file_section_range_named(struct elf_file *f, const char *name, uint64_t *start, uint64_t *end);

/* The section in memory that an address is in. False: none. */
bool elf_file_section_around(const struct elf_file *f, uint64_t address, uint32_t *index, uint64_t *start,
                             uint64_t *end);

/* Is there a section of that name, with content in this file? Loads nothing. */
bool elf_file_has_section(struct elf_file *f, const char *name);

/* Four bytes, a pointer of up to ten and the number of pairs. */
#define EH_FRAME_HDR_START 18

/* Where the unwind tables are, for callers that read them in parts; data is NULL. */
struct elf_eh_frame {
	struct elf_section hdr,
	        frames; /* .eh_frame_hdr, .eh_frame: that ends at its segment's end at the latest */
	uint64_t hdr_offset, frames_offset;
	uint8_t start[EH_FRAME_HDR_START]; /* of .eh_frame_hdr, as far as it has so much */
};

/* Finds them by the segments alone. False: these don't lead there. */
bool elf_file_eh_frame(const struct elf_file *f, struct elf_eh_frame *out);

/*
 * The file's size and owner. False: it was opened from memory, or others than its owner may write to it.
 */
bool elf_file_origin(const struct elf_file *f, uint64_t *size, uint64_t *owner);

/*
 * Gives back what one call has got. The content is freed when all that got it have given it back: a file decides which of
 * its sections are one and the same.
 */
void elf_file_release(struct elf_file *f, uint32_t index);

/*
 * The next place where notes stand: note segments first, then note sections, of which a file may have a million. *next is
 * 0 before the first. False: no more.
 */
bool elf_file_notes(const struct elf_file *f, size_t *next, uint64_t *offset, uint64_t *len);

/* Reads bytes of the file as they are. -EBADMSG: outside it. */
int elf_file_read(const struct elf_file *f, uint64_t offset, void *buffer, size_t len);

/* The same at an ELF address. -EBADMSG: nothing is there, or not so much. */
int elf_file_read_at(const struct elf_file *f, uint64_t address, void *buffer, size_t len);

/* Frees the content of all sections, whoever has it. */
void elf_file_release_all(struct elf_file *f);

/* Gives the pages of a mapped file back to the kernel; they are read again when needed. */
void elf_file_forget_pages(const struct elf_file *f);

/* Bytes held in memory of our own. */
size_t elf_file_memory(const struct elf_file *f);

#endif
