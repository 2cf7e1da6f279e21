/* Prints all of the stamp, as `top -v` does: what was seen, hooks and counters by their names. */
#ifndef STALLPROF_PROFILER_TOP_STAMP_H
#define STALLPROF_PROFILER_TOP_STAMP_H

#include <stddef.h>
#include <stdio.h>

struct loaded_profiles;

/* Counters that are 0 are left out, in lines of `columns` (0: no bound). */
void top_text_stamp(FILE *out, const struct loaded_profiles *input, size_t columns);

#endif
