/*
 * Windows merged into one profile, and its file. It is written at the end, and before that whenever the recording has grown by
 * MERGED_FILE_SAVE_NS: a recorder that is killed leaves what it had then.
 */
#ifndef STALLPROF_PROFILER_MERGED_FILE_H
#define STALLPROF_PROFILER_MERGED_FILE_H

#include <stdint.h>

#define MERGED_FILE_SAVE_NS (300 * INT64_C(1000000000))

struct merged_file;
struct profile;
struct sink_news;

/* `output` and `news` stay the caller's, and must outlive it. NULL: no memory. */
struct merged_file *merged_file_new(const char *output, struct sink_news *news);
/* Takes NULL. */
void merged_file_free(struct merged_file *merged);

/* Takes over the window. */
void merged_file_add(struct merged_file *merged, struct profile *profile);
/* So many windows are missing, which the file will say. */
void merged_file_lose(struct merged_file *merged, uint64_t windows);

/* Writes the file if it is time to. It takes as long as the disk does, and the merged profile's encoding. */
void merged_file_save(struct merged_file *merged);
/* Writes the file, if there is any window; the last call but for the next. */
void merged_file_end(struct merged_file *merged);

/* NULL: no window has come yet. */
const struct profile *merged_file_profile(const struct merged_file *merged);

#endif
