/* Reads bytes of an ELF file, its header and its program headers, checking every bound. */

#include "symbolizer/elf/elf_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int elf_bytes_read(const struct elf_bytes *file, uint64_t offset, void *buffer, size_t len)
{
	size_t done = 0;

	if (!elf_bytes_within(file, offset, len))
		return -EBADMSG;
	if (!len)
		return 0; /* a file of which nothing was read has no bytes to add an offset to */
	if (file->image || offset + len <= file->head_len) {
		memcpy(buffer, (file->image ? file->image : file->head) + offset, len);
		return 0;
	}
	while (done < len) {
		ssize_t got = pread(file->fd, (char *)buffer + done, len - done, (off_t)(offset + done));

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

int elf_bytes_copy(const struct elf_bytes *file, uint64_t offset, size_t len, void **out)
{
	char *copy;
	int err;

	if (!elf_bytes_within(file, offset, len))
		return -EBADMSG;
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	err = elf_bytes_read(file, offset, copy, len);
	if (err) {
		free(copy);
		return err;
	}
	copy[len] = 0;
	*out = copy;
	return 0;
}

int elf_bytes_header(const struct elf_bytes *file, Elf64_Ehdr *out)
{
	int err = elf_bytes_read(file, 0, out, sizeof(*out));

	if (err)
		return err;
	if (memcmp(out->e_ident, ELFMAG, SELFMAG) || out->e_ident[EI_CLASS] != ELFCLASS64 ||
	    out->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	return 0;
}

int elf_bytes_segments(const struct elf_bytes *file, const Elf64_Ehdr *header, size_t max, Elf64_Phdr **out,
                       size_t *n)
{
	void *table;
	int err;

	*out = NULL;
	*n = 0;
	if (!header->e_phnum)
		return 0;
	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > max)
		return -EBADMSG;
	err = elf_bytes_copy(file, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr), &table);
	if (err)
		return err;
	*out = table;
	*n = header->e_phnum;
	return 0;
}
