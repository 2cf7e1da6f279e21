/*
 * Profiles read again: any number of them, summed, with their ledger and stamp.
 *
 * Ledger and stamp are read from each file before the samples are merged.
 */
#ifndef STALLPROF_PROFILER_LOADED_PROFILES_H
#define STALLPROF_PROFILER_LOADED_PROFILES_H

#include <stddef.h>

#include "profiler/loaded/loaded_overlaps.h"

struct gpu_job_rows;
struct checkpoint_rows;
struct ledger;
struct profile;
struct request_rows;
struct stamp;
struct timeline;

struct loaded_profiles;

/* Sees one file, with its ledger and stamp alone. Other than 0 ends the loading. NULL: forget the files seen so far, they are loaded
 * anew without the oldest. */
typedef int (*loaded_see)(void *context, const struct loaded_profiles *file);

struct loaded_options {
	size_t max_bytes; /* of the sum in memory, and of each file; 0: loaded_bytes_max() (loaded_bound.h) */
	loaded_see see;   /* NULL: nobody does */
	void *context;    /* of `see` */
};

struct loaded_profiles {
	const struct profile *profile;
	struct profile *owned; /* the same, when it is to be freed */
	struct ledger *ledger;
	struct request_rows *requests;
	struct gpu_job_rows *gpu_jobs;
	struct checkpoint_rows *checkpoints;
	struct stamp *stamp;
	struct timeline *timeline;
	const char *path; /* to load it again; NULL: several, or not known. The caller's */
	size_t files;
	size_t foreign_files;   /* not written by stallprof: no ledger, no stamp */
	size_t rewritten_files; /* written anew by another program: classes, but no exact tags and no stamp */
	struct loaded_overlaps overlaps;
	size_t malformed_lines;  /* lines of ours that could not be read */
	size_t unreadable_files; /* of a directory; the others are there */
	char unreadable[512];    /* what is wrong with the first of them */
	char left_out[512]; /* a line: how many of a directory's files are too much, and why; "": none are */
};

/*
 * Loads paths; - stands for standard input, a directory stands for all *.pb.gz in it, in the order of their names.
 * A file of a directory that cannot be read is left out, and counted, unless it is the only one. Where the sum would outgrow
 * its bound, the oldest files of the directories are left out; one that covers the same as one before it is, too. The sum of several has the notes of the first alone.
 * On failure a line without newline, beginning with the file, is in err, and there is nothing to release. 0 or
 * -errno, among them what pprof_file_read and profile_merge give.
 */
int loaded_profiles_load(struct loaded_profiles *input, char *const *paths, size_t count, char *err,
                         size_t err_size);

/*
 * The same, and calls options->see for each file before it is merged: for what a sum does not say, as which file a sample is
 * from. What it returns, if not 0, is returned; after -ENOSPC fewer of a directory's files are tried.
 */
int loaded_profiles_load_as(struct loaded_profiles *input, char *const *paths, size_t count,
                            const struct loaded_options *options, char *err, size_t err_size);

/* The same for a profile in memory, which stays the caller's and must outlive input. */
int loaded_profiles_borrow(struct loaded_profiles *input, const struct profile *profile, char *err,
                           size_t err_size);

void loaded_profiles_release(struct loaded_profiles *input);

/* The sample type to look at: `wanted` if not NULL, else delay, cpu or the profile's default, whichever is
 * the first with a sum other than 0. Its index, or -ENOENT. */
int loaded_pick_type(const struct loaded_profiles *input, const char *wanted);

#endif
