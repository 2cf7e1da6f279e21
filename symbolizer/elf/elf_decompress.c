/* Decompresses ELF sections: SHF_COMPRESSED with zlib or zstd, and .zdebug_*. */

#include "symbolizer/elf/elf_decompress.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

struct header {
	uint32_t type;
	uint64_t size; /* once decompressed */
	size_t len;    /* of the header itself */
};

static int read_header(const uint8_t *in, size_t in_len, int is_zdebug, struct header *out)
{
	Elf64_Chdr chdr;
	uint64_t size;

	if (is_zdebug) {
		if (in_len < 12 || memcmp(in, "ZLIB", 4) != 0)
			return -EBADMSG;
		memcpy(&size, in + 4, 8);
		*out = (struct header){ .type = ELFCOMPRESS_ZLIB, .size = be64toh(size), .len = 12 };
		return 0;
	}
	if (in_len < sizeof(chdr))
		return -EBADMSG;
	memcpy(&chdr, in, sizeof(chdr));
	*out = (struct header){ .type = chdr.ch_type, .size = chdr.ch_size, .len = sizeof(chdr) };
	return 0;
}

static int inflate_all(const struct header *header, const uint8_t *in, size_t in_len, uint8_t *out)
{
	uLongf len = header->size;
	size_t got;

	switch (header->type) {
	case ELFCOMPRESS_ZLIB:
		return uncompress(out, &len, in, in_len) == Z_OK && len == header->size ? 0 : -EBADMSG;
	case ELFCOMPRESS_ZSTD:
		got = ZSTD_decompress(out, header->size, in, in_len);
		return !ZSTD_isError(got) && got == header->size ? 0 : -EBADMSG;
	default:
		return -ENOTSUP;
	}
}

int elf_decompress(const uint8_t *in, size_t in_len, int is_zdebug, size_t max_bytes, uint8_t **out,
                   size_t *out_len)
{
	struct header header;
	int err = read_header(in, in_len, is_zdebug, &header);

	if (err)
		return err;
	if (header.size > max_bytes)
		return -EFBIG;
	/* No format here packs more than 1 : 2^17; a header that promises more lies. */
	if (header.size >> 17 > in_len)
		return -EBADMSG;
	*out = malloc(header.size + 1);
	if (!*out)
		return -ENOMEM;
	err = inflate_all(&header, in + header.len, in_len - header.len, *out);
	if (err) {
		free(*out);
		*out = NULL;
		return err;
	}
	*out_len = header.size;
	return 0;
}
