/*
 * Opens the file of a mapping.
 */
#ifndef SYMBOLIZER_MAPPED_FILE_H
#define SYMBOLIZER_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define MAPPED_FILE_DELETED " (deleted)" /* as the kernel marks a path whose file is gone */

struct mapped_file {
	const char *proc; /* where /proc is */
	uint32_t pid;
	bool exited; /* nothing is looked for in PROC/PID */
	uint64_t start, end, inode;
	const char *path; /* as maps has it, without the mark */
};

/* Whether it is one that can be opened: not anonymous memory, [vdso] and the like. */
bool mapped_file_is_one(const struct mapped_file *file);

/*
 * The file itself, be it deleted, replaced or in a container; then the path, if it is known, as the process sees it; then the path as we see
 * it, which is all there is once the process has exited. `root` becomes what belongs before the path for the files beside it. A
 * descriptor, or negative: it can't be opened, see object_cache_may_pass().
 */
int mapped_file_open(const struct mapped_file *file, char *root, size_t root_size, struct stat *st);

#endif
