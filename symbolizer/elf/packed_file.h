/* ELF files that are stored compressed as a whole: .ko.gz, .ko.xz, .ko.zst; and .gnu_debugdata, which is xz. */
#ifndef SYMBOLIZER_PACKED_FILE_H
#define SYMBOLIZER_PACKED_FILE_H

#include "symbolizer/elf/elf_file.h"

/*
 * Opens the regular file `path`; its first bytes tell how it is packed, if at all. A plain one that nobody but root
 * or we may write to is mapped if it is local (so `path` must not be in a container, which has a root of its own). -EFBIG: over
 * max_bytes once unpacked; -ENOTSUP: xz, and liblzma is not installed; -EBADMSG.
 */
int packed_file_open(const char *path, size_t max_bytes, struct elf_file **out);

/* Unpacks xz data; *out is the caller's to free. */
int packed_file_unxz(const uint8_t *in, size_t in_len, size_t max_bytes, uint8_t **out, size_t *out_len);

#endif
