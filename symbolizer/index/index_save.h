/*
 * Putting the new blocks of an object into its index on disk, together with what others have put there: at once, or as a job
 * that another thread does while the object is used on, or is gone. The job has copies of all that it needs, and a
 * handle of the folder of its own.
 */
#ifndef SYMBOLIZER_INDEX_SAVE_H
#define SYMBOLIZER_INDEX_SAVE_H

#include "symbolizer/index/index_file.h"
#include "symbolizer/types.h"

/* Of one object, by low. */
struct index_blocks {
	struct index_block **block;
	size_t n, bytes;
};

struct index_save_result {
	int err; /* -EDQUOT: too large for the folder; -EWOULDBLOCK: another one is writing; -ECANCELED: not done */
	uint64_t refused, evicted;
	struct index_file *file; /* of a job that went well: what is there now, opened; NULL: it can't be */
	int64_t took_ns;
};

/* At once, under the folder's lock. Adds to the counts. Returns err. */
int index_save(struct index_dir *dir, const struct index_key *key, const struct index_blocks *blocks,
               struct index_save_result *result);

struct index_save_job;

/* Copies the blocks and has `beside` do it. NULL: no memory. To be released. */
struct index_save_job *index_save_begin(const struct sym_beside *beside, const struct index_dir *dir,
                                        const struct index_key *key, const struct index_blocks *blocks);
/* NULL: it is not done. Its `file` may be taken from it, and be NULL then. */
struct index_save_result *index_save_done(struct index_save_job *job);
/* What it saves; lives as long as the job. */
const struct index_blocks *index_save_blocks(const struct index_save_job *job);
/* Whether it is done or not; takes NULL. */
void index_save_release(struct index_save_job *job);

#endif
