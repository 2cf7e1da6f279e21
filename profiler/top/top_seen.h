/*
 * Prints what was not seen, in sentences: each loss that the stamp counts, what it means and which option helps.
 * All of the stamp is printed by top_stamp.h.
 */
#ifndef STALLPROF_PROFILER_TOP_SEEN_H
#define STALLPROF_PROFILER_TOP_SEEN_H

#include <stddef.h>
#include <stdio.h>

struct loaded_profiles;

/* Prints one line for each loss, at most `limit` lines (0: all), the last of which then says that there are more,
 * and how to see them. Returns the number of lines. */
size_t top_text_losses(FILE *out, const struct loaded_profiles *input, size_t limit);

#endif
