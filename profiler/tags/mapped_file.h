/*
 * The facts of the files that processes have mapped: each file is read once (tag_file.h) and remembered by device,
 * inode, time of change and size. Bounded; the least recently used is forgotten.
 */
#ifndef STALLPROF_PROFILER_MAPPED_FILE_H
#define STALLPROF_PROFILER_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/tags/tag_file.h"

struct mapped_files;

struct mapped_file_key {
	uint64_t dev, inode, mtime_sec, mtime_nsec, bytes;
};

struct mapped_files_stats {
	uint64_t read, corrupt, unopened;
};

#define MAPPED_FILE_PATH_MAX 4200

/* NULL with errno ENOMEM. */
struct mapped_files *mapped_files_new(size_t files_max);
void mapped_files_free(struct mapped_files *files);

/*
 * The facts of the file that `pid` has mapped at [start, end) and calls `path`; they live until the next
 * call. A file that is no ELF file, or a corrupt one, has no facts, and that is remembered, too. -EAGAIN: its file system does
 * not answer (file_gate.h), or somebody holds a lease on it; -errno: it could not be opened.
 */
int mapped_file_facts(struct mapped_files *files, pid_t pid, uint64_t start, uint64_t end, const char *path,
                      const struct tag_file **out, struct mapped_file_key *key);

/*
 * Gives a path by which this program, and the kernel on its behalf, opens the very file of this `key`. False: there
 * is none (any more).
 */
bool mapped_file_path(const struct mapped_file_key *key, pid_t pid, uint64_t start, uint64_t end,
                      const char *path, char *out, size_t out_bytes);

void mapped_files_stats(const struct mapped_files *files, struct mapped_files_stats *out);

#endif
