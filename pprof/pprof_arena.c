/* Memory arena: small pieces from chunks of 4 to 64 KiB, arrays that grow, and the bound on their sum. */

#include "pprof/pprof_arena.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

enum { CHUNK_MIN = 4096, CHUNK_MAX = 65536 };

struct pprof_chunk {
	struct pprof_chunk *next;
	size_t used, size;
	uint64_t bytes[];
};

static struct pprof_chunk *chunk_new(size_t size)
{
	struct pprof_chunk *c = size > SIZE_MAX - sizeof(*c) ? NULL : calloc(1, sizeof(*c) + size);

	if (!c) {
		errno = ENOMEM;
		return NULL;
	}
	c->size = size;
	return c;
}

/* A piece too big for sharing gets a chunk of its own, put behind the first so that the first fills up. */
static struct pprof_chunk *chunk_for(struct pprof_arena *a, size_t bytes)
{
	struct pprof_chunk *c, *first = a->chunks;

	if (first && first->size - first->used >= bytes)
		return first;
	if (first && bytes > CHUNK_MAX / 4) {
		c = chunk_new(bytes);
		if (c) {
			c->next = first->next;
			first->next = c;
		}
		return c;
	}
	size_t size = a->used_bytes < CHUNK_MIN ? CHUNK_MIN : CHUNK_MAX;

	c = chunk_new(bytes > size ? bytes : size);
	if (c) {
		c->next = first;
		a->chunks = c;
	}
	return c;
}

void *pprof_arena_alloc(struct pprof_arena *a, size_t bytes)
{
	size_t padding = -bytes & 7;

	if (bytes > SIZE_MAX - padding || pprof_arena_charge(a, bytes + padding) < 0) {
		errno = ENOSPC;
		return NULL;
	}

	bytes += padding;

	struct pprof_chunk *c = chunk_for(a, bytes);

	if (!c) {
		a->used_bytes -= bytes;
		return NULL;
	}

	void *piece = (char *)c->bytes + c->used;

	c->used += bytes;
	return piece;
}

int pprof_arena_charge(struct pprof_arena *a, size_t bytes)
{
	if (a->used_bytes > a->max_bytes || bytes > a->max_bytes - a->used_bytes)
		return -ENOSPC;
	a->used_bytes += bytes;
	return 0;
}

void *pprof_arena_grow(struct pprof_arena *a, void *array, size_t *capacity, size_t want, size_t size)
{
	size_t room = (a->max_bytes - a->used_bytes) / size;
	size_t next = *capacity + *capacity / 2 < want ? want : *capacity + *capacity / 2;

	if (want <= *capacity)
		return array;
	if (next - *capacity > room)
		next = want;
	if (next - *capacity > room) {
		errno = ENOSPC;
		return NULL;
	}

	void *grown = reallocarray(array, next, size);

	if (!grown)
		return NULL;
	a->used_bytes += (next - *capacity) * size;
	*capacity = next;
	return grown;
}

void pprof_arena_clear(struct pprof_arena *a)
{
	while (a->chunks) {
		struct pprof_chunk *c = a->chunks;

		a->chunks = c->next;
		free(c);
	}
	a->used_bytes = 0;
}
