/*
 * What other readers see of the ledger: one comment per class of tags, written when a profile goes to a file.
 *
 *     stallprof.class tag=data_load wall_s=5.412345678 oncpu_s=0.150000000 runqueue_s=0.000000000 \
 *         block_io_s=0.049000000 blocked_s=5.213345678 at=1700000000000000000
 *
 * Seconds are exact. base=1 is there for tags of processes (ledger_row.h). at is the profile's time: merging tools
 * drop comments that are equal. Tools that rewrite profiles keep comments and drop notes; these lines are then all
 * that is left of the ledger.
 */
#ifndef STALLPROF_PROFILER_CLASS_COMMENTS_H
#define STALLPROF_PROFILER_CLASS_COMMENTS_H

#include <stddef.h>

struct ledger;
struct profile;

/* Adds the comments for the ledger in the profile's notes; does nothing if there is none. 0, -ENOMEM, or what
 * profile_add_comment says. */
int class_comments_add(struct profile *profile);

/*
 * Adds a row for each state of each class, under the class as tag. Lines that are malformed are skipped and counted in
 * *malformed (added to it; may be NULL). *found: how many were read. 0, or as ledger_add.
 */
int class_comments_read(struct ledger *ledger, const struct profile *profile, size_t *found,
                        size_t *malformed);

#endif
