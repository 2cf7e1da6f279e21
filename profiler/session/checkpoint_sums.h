/*
 * The sha256 of checkpoint files that were written and closed. A process of ours reads them (file_helper.h), a second after the close, so
 * that a file that is renamed and given its xattr right behind has both by then. What is written meanwhile makes an answer void.
 */
#ifndef STALLPROF_PROFILER_CHECKPOINT_SUMS_H
#define STALLPROF_PROFILER_CHECKPOINT_SUMS_H

#include "profiler/session/checkpoint_files_state.h"

#define CHECKPOINT_SUM_REST_NS 1000000000ULL

/* A file has changed by that event, or was closed by it. Without a helper nothing is done. */
void checkpoint_sums_follow(struct checkpoint_files *files, struct saved_file *file,
                            const struct abi_file_event *event);

#endif
