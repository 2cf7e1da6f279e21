/*
 * What became of the checkpoint files that were written: a line for each with which something is wrong, that is, data that did not arrive,
 * or a name that it got before its data was on the device.
 *
 *     Checkpoint files with something wrong:
 *       /mnt/ck/step-100.pt  12.0 MiB; had its name before its data was on the device (still_dirty)
 *       /mnt/ck/step-200.pt  3.10 MiB; 1 write failed: No space left on device
 */
#ifndef STALLPROF_PROFILER_TOP_CHECKPOINTS_H
#define STALLPROF_PROFILER_TOP_CHECKPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct json_writer;
struct loaded_profiles;

/* Prints a heading and at most `limit` lines (0: all) of `columns` (0: no bound), of all files if `all`; nothing when there are none.
 * Returns the number of lines. */
size_t top_text_checkpoints(FILE *out, const struct loaded_profiles *input, bool all, size_t limit,
                            size_t columns);

/* Writes them, with their ranges, as the value of the key "checkpoints". */
void top_json_checkpoints(struct json_writer *json, const struct loaded_profiles *input);

#endif
