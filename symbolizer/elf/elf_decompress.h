/* Compressed ELF sections: SHF_COMPRESSED (zlib, zstd) and GNU's older .zdebug_*. */
#ifndef SYMBOLIZER_ELF_DECOMPRESS_H
#define SYMBOLIZER_ELF_DECOMPRESS_H

#include <stddef.h>
#include <stdint.h>

/*
 * `in` is a section's content with its header: an Elf64_Chdr, or "ZLIB" and a big-endian length when
 * `is_zdebug`. *out is the caller's to free. -EBADMSG: not what the header promised; -EFBIG: would be
 * larger than max_bytes; -ENOTSUP: compressed in a way we don't know.
 */
int elf_decompress(const uint8_t *in, size_t in_len, int is_zdebug, size_t max_bytes, uint8_t **out,
                   size_t *out_len);

#endif
