/*
 * The table of files that are saved, by their inodes, in the order of their last events. checkpoint_files.c keeps it, checkpoint_names.c
 * gives the files their names, checkpoint_sums.c sums them.
 */
#ifndef STALLPROF_PROFILER_SAVED_FILES_H
#define STALLPROF_PROFILER_SAVED_FILES_H

#include <limits.h>
#include <stdbool.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "bpf/abi.h"
#include "profiler/session/checkpoint_order.h"
#include "profiler/session/file_sum.h"

struct asker_process;
struct mounted_paths;

#define RENAMES_KEPT 64

/* What is known of the file's sha256. */
struct saved_sum {
	enum checkpoint_sum state;
	uint64_t due_ns;  /* CLOCK_MONOTONIC: when it is to be taken; 0: it is not, or is being */
	uint64_t round;   /* counts closes and writes: an answer to an older question is void */
	uint64_t renames; /* of the file when it was asked for */
	char sha256[FILE_SUM_TEXT], said[FILE_SUM_TEXT];
};

struct saved_file {
	uint64_t address; /* of its inode: the key */
	uint64_t number, parent;
	uint32_t generation, dev, tgid, source;
	bool told;                   /* nothing became of it since its last row */
	uint64_t begun_ns, ahead_ns; /* CLOCK_MONOTONIC, and how far Unix time was ahead of it then */
	char *place, *path, *from;
	struct checkpoint_order order;
	struct saved_sum sum;
	UT_hash_handle hh; /* by address, in the order of their last events */
};

/* A rename whose end has not come yet. */
struct renaming {
	uint32_t tid;
	bool dirty;
	uint64_t inode; /* 0: void */
	uint64_t begin_ns;
	char place[PATH_MAX];
};

struct saved_files {
	struct mounted_paths *paths;
	struct asker_process *asker; /* by which files are summed; NULL: they are not */
	struct saved_file *files;
	struct renaming renaming[RENAMES_KEPT];
	size_t next_renaming;
	uint64_t dropped;      /* files of which something was not told yet when they had to go */
	uint64_t sums_refused; /* that were not taken, as too many waited, or the asker had ended */
};

/* The file that the event is of; NULL: it is not known. The second also makes it the last of the table, and gives it a row again. */
struct saved_file *saved_files_find(struct saved_files *files, const struct abi_file_event *event);
struct saved_file *saved_files_touch(struct saved_files *files, const struct abi_file_event *event);

/* Puts it behind all others; NULL, and it is freed: there is no memory. */
struct saved_file *saved_files_append(struct saved_files *files, struct saved_file *file);
/* Takes it out and frees it. */
void saved_files_remove(struct saved_files *files, struct saved_file *file);

/* Whether there is anything to tell of it: it was written to. */
bool saved_file_has_data(const struct saved_file *file);

#endif
