/*
 * The blocks of one object: those made since it was opened, in memory, and those in its index on disk, which are
 * read one by one when an address in them is looked up.
 *
 *	object_index_attach(x, folder, &key);			or not: then all is in memory
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

/* `stats`, of which the index_ counters are kept, must outlive it. NULL: no memory. */
struct object_index *object_index_new(struct symbolizer_stats *stats);
void object_index_free(struct object_index *x);

/* Uses the index on disk from now on, if there is one. The folder must outlive it. */
void object_index_attach(struct object_index *x, struct index_folder *folder, const struct index_key *key);

/* It is written by jobs of `beside` from now on (NULL: by object_index_save() itself). That must outlive it. */
void object_index_save_beside(struct object_index *x, const struct sym_beside *beside);

/* False: the address is in no block. Texts of the frames are good until the next call. */
bool object_index_find(struct object_index *x, uint64_t address, struct index_frame *frames, size_t max,
                       size_t *n, enum index_source *source);

/* The addresses around one that is in no block, that are in none either: [*low, *high). */
void object_index_room(const struct object_index *x, uint64_t address, uint64_t *low, uint64_t *high);

/* Takes a block that is in such room, in any case. -ENOMEM. Of too many, all older new ones are forgotten, and counted. */
int object_index_add(struct object_index *x, struct index_block *block);

/*
 * Adds what is new to the index on disk, together with what others have put there meanwhile; from then on it is
 * there and not in memory. In turn is when there is something new and a minute has passed, or as much as keeps this below
 * 1 % of the time, and nobody else is writing; now, as it is to be forgotten, whenever nobody else is writing; for the last
 * time, also when that has to be waited for, up to a second. Returns true when the index has been written. After an error all
 * stays in memory, and is tried again the next time.
 *
 * Beside, this only begins a job, with copies, and is never true; what was saved is known from the next call on.
 */
enum index_save { INDEX_SAVE_IN_TURN = 0, INDEX_SAVE_LAST = 1, INDEX_SAVE_NOW = 2 };
bool object_index_save(struct object_index *x, enum index_save when);

size_t object_index_memory(const struct object_index *x);

#endif
