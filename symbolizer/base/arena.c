/* An arena: hands out small pieces of large chunks, and frees all chunks at once. */

#include "symbolizer/base/arena.h"

#include <stdint.h>
#include <stdlib.h>

/* The first chunk is small, as many arenas stay so; each next one doubles the whole, up to the largest. */
#define FIRST_BYTES   1024
#define LARGEST_BYTES 65536

struct arena_chunk {
	struct arena_chunk *next;
	uint64_t data[];
};

void *arena_alloc(struct arena *a, size_t len)
{
	struct arena_chunk *chunk;
	size_t size;

	if (len > SIZE_MAX / 2)
		return NULL;
	len = (len + 7) & ~(size_t)7;
	if (!a->chunks || a->size - a->used < len) {
		size = a->bytes < FIRST_BYTES ? FIRST_BYTES - sizeof(*chunk) : a->bytes;
		size = size < LARGEST_BYTES ? size : LARGEST_BYTES;
		size = len > size ? len : size;
		chunk = malloc(sizeof(*chunk) + size);
		if (!chunk)
			return NULL;
		chunk->next = a->chunks;
		a->chunks = chunk;
		a->size = size;
		a->used = 0;
		a->bytes += sizeof(*chunk) + size;
	}
	a->used += len;
	return (char *)a->chunks->data + (a->used - len);
}

void arena_free(struct arena *a)
{
	struct arena_chunk *chunk, *next;

	for (chunk = a->chunks; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	*a = (struct arena){ 0 };
}
