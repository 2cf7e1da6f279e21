/*
 * Writes windows to a disk: a file each in a folder, or merged into one file (merged_file.h). A thread does that; windows that
 * come while the disk is busy wait in its queue.
 */
#ifndef STALLPROF_PROFILER_SINK_FILES_H
#define STALLPROF_PROFILER_SINK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bounds of the queue of windows that wait for the disk. One file is not needed before the end, so a disk that hangs
 * while it is saved should lose none: */
#define SINK_FILES_WINDOWS 64
#define SINK_FILES_MERGED  4096
#define SINK_FILES_BYTES   ((size_t)256 << 20)

struct config;
struct profile;
struct sink_files;
struct sink_news;

/* `output` as for sink_new(), not empty; Shares `news`. NULL with errno set and a line in `err`. */
struct sink_files *sink_files_new(const struct config *config, const char *output, struct sink_news *news,
                                  char *err, size_t err_len);

/* Takes over the profile (NULL: there is none). After the `last` one the one file is written. */
void sink_files_put(struct sink_files *files, struct profile *profile, bool last);
/* Counts a window that was lost before it came here. */
void sink_files_lose(struct sink_files *files);

size_t sink_files_count(struct sink_files *files);
bool sink_files_has_ended(struct sink_files *files);

/* Gives up the windows that wait, and says how many, or that the one file is not written. False: the thread hangs in the kernel, maybe for long. */
bool sink_files_give_up(struct sink_files *files);
/* Call it in that case instead of sink_files_free(): the thread frees everything, if it ever ends. */
void sink_files_leave(struct sink_files *files);
/* Takes NULL. */
void sink_files_free(struct sink_files *files);

/* The path that was given, without slashes at its end; whether it is a folder. */
const char *sink_files_output(const struct sink_files *files);
bool sink_files_is_dir(const struct sink_files *files);

/* The merged profile, after sink_files_has_ended(). NULL: there is none. */
const struct profile *sink_files_whole(const struct sink_files *files);

#endif
