/*
 * Memory with an upper bound, freed all at once: many small pieces that live as long as their owner, and
 * arrays that grow.
 *
 * used_bytes counts what was asked for; the arena itself takes up to 64 KiB more.
 */
#ifndef STALLPROF_PPROF_ARENA_H
#define STALLPROF_PPROF_ARENA_H

#include <stddef.h>

struct pprof_arena {
	size_t used_bytes, max_bytes;
	struct pprof_chunk *chunks; /* the newest first; small pieces come from the first */
};

/* Zeroed and aligned to 8. NULL with errno ENOSPC (above max_bytes) or ENOMEM. */
void *pprof_arena_alloc(struct pprof_arena *a, size_t bytes);

/* Counts memory that is held elsewhere against max_bytes. -ENOSPC when it would not fit. */
int pprof_arena_charge(struct pprof_arena *a, size_t bytes);

/*
 * Makes room in `array`, which has *capacity elements of `size` bytes, for `want` of them; new ones are not zeroed.
 * Returns the array, which may have moved. On failure returns NULL with errno set, and the old array is unchanged.
 * The caller frees it with free(), even after the arena is gone.
 */
void *pprof_arena_grow(struct pprof_arena *a, void *array, size_t *capacity, size_t want, size_t size);

/* Frees every piece; max_bytes stays. */
void pprof_arena_clear(struct pprof_arena *a);

#endif
