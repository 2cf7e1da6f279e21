/*
 * Prints what was not seen, in sentences: each loss that the stamp counts, what it means and which option helps.
 * `top -v` prints all of the stamp: hooks and counters by their names.
 */
#ifndef STALLPROF_PROFILER_TOP_SEEN_H
#define STALLPROF_PROFILER_TOP_SEEN_H

#include <stddef.h>
#include <stdio.h>

struct loaded_profiles;

/* Prints one line for each loss, at most `limit` lines (0: all), the last of which then says that there are more,
 * and how to see them. Returns the number of lines. */
size_t top_text_losses(FILE *out, const struct loaded_profiles *input, size_t limit);

/* Counters that are 0 are left out, in lines of `columns` (0: no bound). */
void top_text_stamp(FILE *out, const struct loaded_profiles *input, size_t columns);

#endif
