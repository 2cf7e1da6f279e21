/*
 * The folder with the indexes of all files, which agents share: made with mode 0700 when it is missing, and used only
 * when it is a folder (no link to one) that belongs to root or to us, and nobody else may write to.
 *
 * Files in it are never changed, only put in place by rename, or removed; so whoever has one open may go on
 * reading it. To write or remove files, a process holds the lock on the folder, which ends with the process.
 *
 * Its size is limited: the files that have not been opened for longest are removed first.
 */
#ifndef SYMBOLIZER_INDEX_FOLDER_H
#define SYMBOLIZER_INDEX_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDEX_FILE_ENDING ".stallsym"
#define INDEX_NAME_SIZE   192

struct index_dir;

/* -EPERM: somebody else's, or others may write to it; -ENOTDIR, -ELOOP; -errno of making and opening it. */
int index_dir_open(const char *path, uint64_t max_bytes, struct index_dir **out);
void index_dir_close(struct index_dir *f);
uint64_t index_dir_max_bytes(const struct index_dir *f);
const char *index_dir_path(const struct index_dir *f); /* as it was opened */

/*
 * Opens a file in it for reading, and records that it was used. Returns the descriptor, the caller's to close;
 * -ENOENT; -EBADMSG: not a regular file, belongs to neither root nor us, or others may write to it; -errno.
 */
int index_dir_open_file(const struct index_dir *f, const char *name);

/*
 * To write: lock, then for each file begin, write all of it, end; then unlock. -EWOULDBLOCK: another process is
 * writing; with `wait` it is waited for, up to a second.
 */
int index_dir_lock(struct index_dir *f, bool wait);
void index_dir_unlock(struct index_dir *f);

/* Creates the new file; returns its descriptor, or -errno. */
int index_dir_begin(struct index_dir *f);

/* Closes the new file and renames it to `name`, or removes it when `err` is not 0. Returns err, or -errno. */
int index_dir_end(struct index_dir *f, int fd, const char *name, int err);

/* Removes files until the rest is within the limit; returns how many. Call it under the lock. */
size_t index_dir_trim(struct index_dir *f);

#endif
