/*
 * The tagged files that are written, from the events that the BPF programs tell of them (bpf/abi_files.h) to rows of a profile.
 *
 *     files = checkpoint_files_new(&deps);
 *     checkpoint_files_add(files, event);                    as they come
 *     checkpoint_files_tick(files, now);                     now and then: has files summed that are due
 *     checkpoint_files_answered(files, &answer);             an answer to a FILE_SUM
 *     checkpoint_files_describe(files, stamp);               at a window's end: what was lost
 *     checkpoint_files_rows(files, rows);                    … and files that anything became of since the last
 *     checkpoint_files_free(files);
 *
 * Up to CHECKPOINT_FILES_MAX are kept; for more, those go of which nothing was heard for longest. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_CHECKPOINT_FILES_H
#define STALLPROF_PROFILER_CHECKPOINT_FILES_H

#include <stddef.h>

#include "bpf/abi.h"

struct checkpoint_files;
struct checkpoint_rows;
struct config_tag_files;
struct device_names;
struct file_answer;
struct asker_process;
struct mounted_paths;
struct stamp;
struct tag_classes;

#define CHECKPOINT_FILES_MAX 1024

/* All outlive it. */
struct checkpoint_files_deps {
	const struct config_tag_files *entries; /* those that events have the index of */
	size_t n_entries;
	struct tag_classes *classes;
	struct device_names *devices;
	struct mounted_paths *paths;
	struct asker_process *asker; /* by which files are summed; NULL: they are not */
};

/* NULL without memory. */
struct checkpoint_files *checkpoint_files_new(const struct checkpoint_files_deps *deps);
void checkpoint_files_free(struct checkpoint_files *files);

/* `event` has `names_len` bytes of names behind it. What is no event of a file's is left out. */
void checkpoint_files_add(struct checkpoint_files *files, const struct abi_file_event *event);

/* `files` may be NULL in these. `now_ns` is CLOCK_MONOTONIC. */
void checkpoint_files_tick(struct checkpoint_files *files, uint64_t now_ns);
void checkpoint_files_answered(struct checkpoint_files *files, const struct file_answer *answer);
/* How many files are to be summed, or are being. */
size_t checkpoint_files_unsummed(const struct checkpoint_files *files);

/* Adds counters to the stamp, and begins them anew. Those that the rows will have no room for are counted. 0 or -errno. */
int checkpoint_files_describe(struct checkpoint_files *files, struct stamp *stamp);

/* Without those that there is no room for, which may have it in the next window. 0, or as checkpoint_rows_add(). */
int checkpoint_files_rows(struct checkpoint_files *files, struct checkpoint_rows *rows);

#endif
