/*
 * The bytes of an ELF file and its first headers, read without trust: nothing is read outside the file, and one that
 * is cut short or changed while it is read costs an error or wrong bytes, never a fault.
 */
#ifndef SYMBOLIZER_ELF_BYTES_H
#define SYMBOLIZER_ELF_BYTES_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_bytes {
	int fd;               /* the caller's; read by pread */
	const uint8_t *image; /* NULL: read by fd */
	uint64_t size;
	const uint8_t *head; /* the first `head_len` bytes of it, if they have been read before */
	size_t head_len;
};

/* Does the file have that many bytes there? */
static inline bool elf_bytes_within(const struct elf_bytes *file, uint64_t offset, uint64_t len)
{
	return offset <= file->size && len <= file->size - offset;
}

/* Reads exactly `len` bytes. -EBADMSG: they are not there; -errno of reading. */
int elf_bytes_read(const struct elf_bytes *file, uint64_t offset, void *buffer, size_t len);

/* The same into memory of its own with a NUL behind them, the caller's to free. -ENOMEM. */
int elf_bytes_copy(const struct elf_bytes *file, uint64_t offset, size_t len, void **out);

/* Reads the header. -ENOEXEC: it is not that of a 64-bit little-endian ELF file; else as elf_bytes_read(). */
int elf_bytes_header(const struct elf_bytes *file, Elf64_Ehdr *out);

/*
 * Reads the program headers, the caller's to free; NULL and 0 when there are none. -EBADMSG: there are more than
 * `max`, or of another size, or they lie outside the file; else as elf_bytes_copy().
 */
int elf_bytes_segments(const struct elf_bytes *file, const Elf64_Ehdr *header, size_t max, Elf64_Phdr **out,
                       size_t *n);

#endif
