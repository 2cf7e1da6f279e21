/* Packs and unpacks gzip in memory with zlib, unpacking up to a given size. */

#include "pprof/pprof_gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

enum {
	GZIP_WINDOW = MAX_WBITS + 16, /* zlib's way to ask for gzip's header and trailer */
	FIRST_BYTES = 65536,
	PACK_LEVEL = 4, /* on profiles as small as 6, at two thirds of its time */
};

bool pprof_is_gzip(const void *buf, size_t len)
{
	const unsigned char *b = buf;

	return len >= 2 && b[0] == 0x1f && b[1] == 0x8b;
}

int pprof_gzip_pack(const void *in, size_t len, void **out, size_t *out_len)
{
	z_stream z = { .next_in = (void *)in, .avail_in = (uInt)len };
	int ret = -ENOMEM;
	void *buf = NULL;
	uLong bound;

	if (len > INT_MAX)
		return -EFBIG;
	if (deflateInit2(&z, PACK_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	bound = deflateBound(&z, len);
	buf = malloc(bound);
	if (!buf)
		goto out;
	z.next_out = buf;
	z.avail_out = (uInt)bound;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		goto out;
	*out = buf;
	*out_len = z.total_out;
	buf = NULL;
	ret = 0;
out:
	free(buf);
	deflateEnd(&z);
	return ret;
}

struct unpacked {
	unsigned char *bytes;
	size_t len, capacity, max; /* one byte above max may be held: it shows that there is more */
};

static int make_room(struct unpacked *u)
{
	size_t want = u->capacity ? u->capacity * 2 : FIRST_BYTES;
	unsigned char *grown;

	if (u->len < u->capacity)
		return 0;
	if (u->len > u->max)
		return -ENOSPC;
	if (want > u->max)
		want = u->max + 1;
	grown = realloc(u->bytes, want);
	if (!grown)
		return -ENOMEM;
	u->bytes = grown;
	u->capacity = want;
	return 0;
}

/* One step of inflate; Z_OK, Z_STREAM_END or an error of zlib's. */
static int inflate_some(z_stream *z, const unsigned char **in, const unsigned char *end, struct unpacked *u)
{
	size_t left = (size_t)(end - *in), room = u->capacity - u->len;
	int ret;

	z->next_in = (void *)*in;
	z->avail_in = left > INT_MAX ? INT_MAX : (uInt)left;
	z->next_out = u->bytes + u->len;
	z->avail_out = room > INT_MAX ? INT_MAX : (uInt)room;
	ret = inflate(z, Z_NO_FLUSH);
	*in = z->next_in;
	u->len = (size_t)(z->next_out - u->bytes);
	return ret;
}

static int inflate_all(z_stream *z, const unsigned char *in, const unsigned char *end, struct unpacked *u,
                       const char **what)
{
	for (;;) {
		int ret = make_room(u);

		if (ret < 0)
			return ret;
		switch (inflate_some(z, &in, end, u)) {
		case Z_OK:
			break;
		case Z_STREAM_END:
			if (in == end)
				return u->len > u->max ? -ENOSPC : 0;
			inflateReset(z);
			break;
		case Z_BUF_ERROR:
			*what = "the gzip data is cut short";
			return -EBADMSG;
		case Z_MEM_ERROR:
			return -ENOMEM;
		default:
			*what = z->msg ? z->msg : "the gzip data is damaged";
			return -EBADMSG;
		}
	}
}

int pprof_gzip_unpack(const void *in, size_t len, size_t max_bytes, void **out, size_t *out_len,
                      const char **what)
{
	struct unpacked u = { .max = max_bytes < SIZE_MAX ? max_bytes : SIZE_MAX - 1 };
	z_stream z = { 0 };
	int ret;

	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return -ENOMEM;
	ret = inflate_all(&z, in, (const unsigned char *)in + len, &u, what);
	inflateEnd(&z);
	if (ret < 0) {
		free(u.bytes);
		return ret;
	}
	*out = u.bytes;
	*out_len = u.len;
	return 0;
}
