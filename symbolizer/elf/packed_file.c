/* Opens ELF files that are compressed as a whole with gzip, xz or zstd. */

#include "symbolizer/elf/packed_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "symbolizer/base/regular_file.h"

/* liblzma's buffer-to-buffer decoder, which has kept this form since 5.0. Loaded when first needed. */
#define LZMA_OK        0
#define LZMA_BUF_ERROR 10

typedef int (*lzma_decode_fn)(uint64_t *memory_limit, uint32_t flags, const void *allocator,
                              const uint8_t *in, size_t *in_pos, size_t in_size, uint8_t *out,
                              size_t *out_pos, size_t out_size);

static lzma_decode_fn lzma_decode;

static void load_lzma(void)
{
	void *library = dlopen("liblzma.so.5", RTLD_LAZY | RTLD_LOCAL);

	if (library)
		lzma_decode = (lzma_decode_fn)dlsym(library, "lzma_stream_buffer_decode");
}

/* 0; -ENOSPC: `size` is too little; -EBADMSG. */
typedef int (*unpack_fn)(const uint8_t *in, size_t in_len, uint8_t *out, size_t size, size_t *len);

static int unpack_xz(const uint8_t *in, size_t in_len, uint8_t *out, size_t size, size_t *len)
{
	uint64_t memory_limit = (uint64_t)256 << 20;
	size_t in_pos = 0, out_pos = 0;
	int got = lzma_decode(&memory_limit, 0, NULL, in, &in_pos, in_len, out, &out_pos, size);

	*len = out_pos;
	return got == LZMA_OK ? 0 : got == LZMA_BUF_ERROR ? -ENOSPC : -EBADMSG;
}

static int unpack_zstd(const uint8_t *in, size_t in_len, uint8_t *out, size_t size, size_t *len)
{
	*len = ZSTD_decompress(out, size, in, in_len);
	if (!ZSTD_isError(*len))
		return 0;
	return ZSTD_getErrorCode(*len) == ZSTD_error_dstSize_tooSmall ? -ENOSPC : -EBADMSG;
}

static int unpack_gzip(const uint8_t *in, size_t in_len, uint8_t *out, size_t size, size_t *len)
{
	z_stream z = { .next_in = (Bytef *)in, .next_out = out };
	int got;

	z.avail_in = in_len > UINT_MAX ? UINT_MAX : (uInt)in_len;
	z.avail_out = size > UINT_MAX ? UINT_MAX : (uInt)size;
	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return -ENOMEM;
	got = inflate(&z, Z_FINISH);
	*len = z.total_out;
	inflateEnd(&z);
	if (got == Z_STREAM_END)
		return 0;
	return !z.avail_out ? -ENOSPC : -EBADMSG;
}

/* Tries larger and larger buffers, since not every format says how much there is. */
static int unpack(unpack_fn fn, const uint8_t *in, size_t in_len, size_t max_bytes, uint8_t **out,
                  size_t *out_len)
{
	size_t size = in_len > max_bytes / 6 ? max_bytes : in_len * 6 + 4096;
	int err;

	for (;;) {
		*out = malloc(size);
		if (!*out)
			return -ENOMEM;
		err = fn(in, in_len, *out, size, out_len);
		if (!err)
			return 0;
		free(*out);
		*out = NULL;
		if (err != -ENOSPC)
			return err;
		if (size >= max_bytes)
			return -EFBIG;
		size = size > max_bytes / 4 ? max_bytes : size * 4;
	}
}

int packed_file_unxz(const uint8_t *in, size_t in_len, size_t max_bytes, uint8_t **out, size_t *out_len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_lzma);
	return lzma_decode ? unpack(unpack_xz, in, in_len, max_bytes, out, out_len) : -ENOTSUP;
}

static int unpack_any(const uint8_t *in, size_t in_len, size_t max_bytes, uint8_t **out, size_t *out_len)
{
	if (in_len > 6 && memcmp(in, "\xfd\x37zXZ", 5) == 0)
		return packed_file_unxz(in, in_len, max_bytes, out, out_len);
	if (in_len > 4 && memcmp(in, "\x28\xb5\x2f\xfd", 4) == 0)
		return unpack(unpack_zstd, in, in_len, max_bytes, out, out_len);
	if (in_len > 2 && memcmp(in, "\x1f\x8b", 2) == 0)
		return unpack(unpack_gzip, in, in_len, max_bytes, out, out_len);
	return -EBADMSG;
}

static int read_whole(int fd, size_t max_bytes, uint8_t **out, size_t *len)
{
	struct stat st;
	ssize_t got;

	*out = NULL;
	*len = 0;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < 4)
		return -EBADMSG;
	if ((uint64_t)st.st_size > max_bytes)
		return -EFBIG;
	*out = malloc((size_t)st.st_size);
	if (!*out)
		return -ENOMEM;
	while (*len < (size_t)st.st_size) {
		got = pread(fd, *out + *len, (size_t)st.st_size - *len, (off_t)*len);
		if (got < 0)
			return -errno;
		if (!got)
			return -EBADMSG;
		*len += (size_t)got;
	}
	return 0;
}

static int open_packed(int fd, size_t max_bytes, struct elf_file **out)
{
	uint8_t *packed, *plain;
	size_t packed_len, plain_len;
	int err = read_whole(fd, max_bytes, &packed, &packed_len);

	if (!err)
		err = unpack_any(packed, packed_len, max_bytes, &plain, &plain_len);
	free(packed);
	return err ? err : elf_file_open_owned(plain, plain_len, max_bytes, out);
}

int packed_file_open(const char *path, size_t max_bytes, struct elf_file **out)
{
	int fd = regular_file_open(path, 0), err;
	char magic[4];

	if (fd < 0)
		return fd;
	if (pread(fd, magic, sizeof(magic), 0) == sizeof(magic) && memcmp(magic, "\177ELF", 4) == 0)
		return elf_file_open(fd, regular_file_is_safe(fd), max_bytes, out);
	err = open_packed(fd, max_bytes, out);
	close(fd);
	return err;
}
