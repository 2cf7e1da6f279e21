/*
 * The spool: a folder with the windows that wait for a server, a file each (spool_file.h), so that they outlive the
 * process.
 *
 *     spool_open(folder, &spool)
 *     spool_list(spool, &files, &n)       what an earlier process left, oldest first
 *     spool_store(spool, window)          any number of windows, which get rising numbers
 *     spool_load(spool, window, …)        when its turn has come
 *     spool_note(spool, window)           after each request
 *     spool_remove(spool, window)         it was delivered, or given up
 *     spool_set_aside(spool, window)      instead of that, when the server cannot take it
 *     spool_close(spool)                  what is left there stays
 *
 * One process has the folder at a time: a lock on the folder itself ends with the process, and is not inherited by programs
 * that it starts. The folder has mode 0700, its files 0600. Files are NUMBER.window; "new" is one that is being
 * written, "damaged" the last one that could not be read, "refused" the last one that was set aside. Others are not touched.
 *
 * A crash leaves a file whole or not at all: it is written as "new", synced and renamed. What spool_note() wrote outlives the
 * process, but is not synced: a crash of the host may lose the last seconds of that, and what was sent in them is sent again.
 *
 * What is kept of a window is what was to be sent: its samples have been cut, and have paid what windows before it owed
 * (push_debts.h). What is owed to the server when the process ends is not kept; sink_push.c says how much that is.
 *
 * Any thread may call these functions, each window is one thread's. They return 0 or -errno.
 */
#ifndef STALLPROF_PROFILER_SPOOL_H
#define STALLPROF_PROFILER_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct push_window;
struct spool;

#define SPOOL_DIGITS 12 /* of NUMBER */

struct spool_entry {
	uint64_t number, bytes;
};

/* More files are left for the next start. */
#define SPOOL_LIST_MAX 65536

/* Makes the folder when it is missing, not those above it. -EWOULDBLOCK: another process has it. -EPERM: it is
 * somebody else's, or others may write to it. Changes nothing in a folder that is there, so a file system that is frozen does not
 * delay it. */
int spool_open(const char *path, struct spool **out);
/* What spool_open() would return, as far as that is seen without making the folder; has its lock for a moment. */
int spool_check(const char *path);
/* Whether the path names the folder, however it is spelled. */
bool spool_is(const struct spool *spool, const char *path);
/* For another who may outlive the first: each closes it once. Returns `spool`. */
struct spool *spool_share(struct spool *spool);
/* Takes NULL. */
void spool_close(struct spool *spool);

/* *entries is the caller's to free; NULL when there are none. */
int spool_list(struct spool *spool, struct spool_entry **entries, size_t *n);

/* Writes the window, and sets its number and file_bytes; makes the folder anew if it was removed. -EINVAL, -EFBIG: see spool_file.h. */
int spool_store(struct spool *spool, struct push_window *window);

/*
 * Reads back what push_window_unload() freed. -ENOMEM; -EBADMSG: it was damaged, or is not a file of ours, as *fault says,
 * and has been set aside as "damaged"; -EISDIR: it is a folder, none of ours, and stays; -errno: it cannot be read, and stays.
 */
int spool_load(struct spool *spool, struct push_window *window, const char **fault);

/* Writes the window's progress. */
int spool_note(struct spool *spool, const struct push_window *window);

/* Removes its file; the window has none then. */
void spool_remove(struct spool *spool, struct push_window *window);

/* Renames its file to SPOOL_REFUSED; the window has none then. `name` becomes what it was called; whoever gives it that name again has it
 * sent after the next start. On failure it is removed. */
#define SPOOL_REFUSED    "refused"
#define SPOOL_NAME_BYTES 24
int spool_set_aside(struct spool *spool, struct push_window *window, char name[SPOOL_NAME_BYTES]);

#endif
