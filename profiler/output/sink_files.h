/*
 * The way of windows to a disk: into a folder, a file each, or merged into one file, which is written at the end. A thread
 * does that, and a queue before it holds the windows that come while a disk is busy.
 */
#ifndef STALLPROF_PROFILER_SINK_FILES_H
#define STALLPROF_PROFILER_SINK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of windows that wait for the disk. */
#define SINK_FILES_WINDOWS 64
#define SINK_FILES_BYTES   ((size_t)256 << 20)

struct config;
struct profile;
struct sink_files;
struct sink_news;

/* `output` as for sink_new(), not empty; `news` outlives it. NULL with errno set and a line in `err`. */
struct sink_files *sink_files_new(const struct config *config, const char *output, struct sink_news *news,
                                  char *err, size_t err_len);

/* Takes the profile (NULL: there is none) over; with the last one the one file is written. */
void sink_files_put(struct sink_files *files, struct profile *profile, bool last);
/* A window that was lost before it came here. */
void sink_files_lose(struct sink_files *files);

/* How many windows were lost since the last call, as the disk took too long. */
uint64_t sink_files_dropped(struct sink_files *files);

size_t sink_files_count(struct sink_files *files);
bool sink_files_has_ended(struct sink_files *files);

/* Gives up what waits, and says how much that is. False: the thread hangs in the kernel, and may do so for long. */
bool sink_files_give_up(struct sink_files *files);
/* Instead of sink_files_free() then: the thread frees all of it, the news among it, should it come to its end. */
void sink_files_leave(struct sink_files *files);
/* Takes NULL. */
void sink_files_free(struct sink_files *files);

/* The path that was given, without slashes at its end; whether it is a folder. */
const char *sink_files_output(const struct sink_files *files);
bool sink_files_is_folder(const struct sink_files *files);

/* What was merged; after sink_files_has_ended(). NULL: nothing. */
const struct profile *sink_files_whole(const struct sink_files *files);

#endif
