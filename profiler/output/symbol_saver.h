/*
 * Writes the symbolizer's indexes to disk in a thread of its own (symbolizer.h: struct sym_beside), so that nobody waits for a
 * busy disk. As they are a cache, jobs are dropped when too many wait, and at the end those that the disk takes too long for.
 */
#ifndef STALLPROF_PROFILER_SYMBOL_SAVER_H
#define STALLPROF_PROFILER_SYMBOL_SAVER_H

#include <stdint.h>

#include "symbolizer/types.h"

/* Each object with something new has one at most, and each that is evicted. */
#define SYMBOL_SAVER_JOBS  512
#define SYMBOL_SAVER_BYTES ((size_t)64 << 20)

struct symbol_saver;

/* NULL: no memory. */
struct symbol_saver *symbol_saver_new(void);

/* For the symbolizer's options; lives as long as the saver. NULL for NULL. */
const struct sym_beside *symbol_saver_beside(const struct symbol_saver *saver);

/* How long the end of a session waits for a disk. */
#define SYMBOL_SAVER_LAST_NS (2 * 1000000000ULL)

/* Waits for what has been given to it, but not longer than `wait_ns`. Takes NULL. */
void symbol_saver_free(struct symbol_saver *saver, uint64_t wait_ns);

#endif
