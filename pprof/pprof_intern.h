/*
 * A table of byte records, each held once and numbered 0, 1, 2 ... in the order of their arrival. The bytes are the
 * key, so the padding of a struct must be zeroed. Records never move, are aligned to 8 and live as long as the
 * arena. Adding and finding cost one hash of the bytes.
 */
#ifndef STALLPROF_PPROF_INTERN_H
#define STALLPROF_PPROF_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pprof/pprof_arena.h"

struct pprof_intern {
	struct pprof_arena *arena; /* the owner sets it; the rest starts as zeros */
	struct pprof_record *hash, **records;
	size_t n, capacity;
};

/* Returns the record's number, or -ENOSPC, -ENOMEM, -E2BIG (above 1 GiB, or 2^32 records). `is_new` may be NULL. */
int64_t pprof_intern_add(struct pprof_intern *t, const void *bytes, size_t len, bool *is_new);

/* Returns the record's number, or -ENOENT. */
int64_t pprof_intern_find(const struct pprof_intern *t, const void *bytes, size_t len);

/* The table's own copy; `i` must be below t->n. */
const void *pprof_intern_get(const struct pprof_intern *t, size_t i);

/* The number of a record that pprof_intern_get() returned. */
size_t pprof_intern_number(const void *bytes);

/* Call it before the arena is cleared. */
void pprof_intern_free(struct pprof_intern *t);

#endif
