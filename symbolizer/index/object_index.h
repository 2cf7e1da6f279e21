/*
 * The blocks of one object: those made since it was opened, in memory, and those in its index on disk, which are
 * read one by one when an address in them is looked up.
 *
 *	object_index_attach(x, folder, &key);			optional: without it all is in memory
 *	if (!object_index_find(x, address, frames, max, &n, &source)) {
 *		object_index_room(x, address, &low, &high);
 *		... make a block in there ...
 *		object_index_add(x, block);
 *	}
 *	object_index_save(x, false);				now and then, off any hot path
 */
#ifndef SYMBOLIZER_OBJECT_INDEX_H
#define SYMBOLIZER_OBJECT_INDEX_H

#include "symbolizer/index/index_file.h"
#include "symbolizer/types.h"

struct object_index;

/* Counts in the index_ counters of `stats`, which must outlive it. NULL: no memory. */
struct object_index *object_index_new(struct symbolizer_stats *stats);
void object_index_free(struct object_index *x);

/* Uses the index on disk from now on, if there is one. The folder must outlive it. */
void object_index_attach(struct object_index *x, struct index_dir *dir, const struct index_key *key);

/* From now on jobs of `beside` write it (NULL: object_index_save() itself does). `beside` must outlive it. */
void object_index_save_beside(struct object_index *x, const struct sym_beside *beside);

/* False: the address is in no block. The frames' texts are valid until the next call. */
bool object_index_find(struct object_index *x, uint64_t address, struct index_frame *frames, size_t max,
                       size_t *n, enum index_source *source);

/* For an address that is in no block: the range around it that is in no block either, [*low, *high). */
void object_index_room(const struct object_index *x, uint64_t address, uint64_t *low, uint64_t *high);

/*
 * Adds a block within such a range; takes it in any case. -ENOMEM. When 2^16 blocks are not saved, these are dropped,
 * which counts as an error.
 */
int object_index_add(struct object_index *x, struct index_block *block);

/*
 * Writes new blocks to the index on disk, merged with what other processes have put there meanwhile, and frees them
 * in memory. INDEX_SAVE_IN_TURN: only if there is something new, nobody else is writing, and a minute has passed
 * (longer where saving would take more than 1 % of the time). INDEX_SAVE_NOW, before the object is unloaded: unless
 * somebody else is writing. INDEX_SAVE_LAST: waits up to a second for other writers. Returns true when the index was
 * written. After an error all stays in memory, to be tried again the next time.
 *
 * With `beside` this only begins a job with copies, and returns false; the next call knows what was written.
 */
enum index_save { INDEX_SAVE_IN_TURN = 0, INDEX_SAVE_LAST = 1, INDEX_SAVE_NOW = 2 };
bool object_index_save(struct object_index *x, enum index_save when);

size_t object_index_memory(const struct object_index *x);

#endif
