/*
 * The sha256 of checkpoint files that were written and closed. A process of ours reads them (asker_process.h), a second after the close, so
 * that a file that is renamed and given its xattr right behind has both by then. What is written meanwhile makes an answer void.
 */
#ifndef STALLPROF_PROFILER_CHECKPOINT_SUMS_H
#define STALLPROF_PROFILER_CHECKPOINT_SUMS_H

#include "profiler/session/saved_files.h"

struct file_answer;

#define CHECKPOINT_SUM_REST_NS 1000000000ULL

/* A file has changed by that event, or was closed by it. Without an asker nothing is done. */
void checkpoint_sums_follow(struct saved_files *files, struct saved_file *file,
                            const struct abi_file_event *event);

/* Has those summed that are due. Once the asker has ended all that wait are refused. `now_ns` is CLOCK_MONOTONIC. */
void checkpoint_sums_tick(struct saved_files *files, uint64_t now_ns);

/* An answer to a FILE_SUM. */
void checkpoint_sums_answered(struct saved_files *files, const struct file_answer *answer);

/* How many files are to be summed, or are being. */
size_t checkpoint_sums_waiting(const struct saved_files *files);

#endif
