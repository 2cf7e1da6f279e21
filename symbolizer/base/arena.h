/* Memory that is given out in small pieces and freed all at once. A zeroed `struct arena` is empty. */
#ifndef SYMBOLIZER_ARENA_H
#define SYMBOLIZER_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks; /* newest first; only the newest has room */
	size_t used, size;          /* of the newest */
	size_t bytes;               /* of all chunks */
};

/* Returns `len` bytes, 8-byte aligned and not cleared. NULL: no memory. */
void *arena_alloc(struct arena *a, size_t len);
void arena_free(struct arena *a);

#endif
