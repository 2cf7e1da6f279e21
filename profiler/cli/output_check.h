/* Whether a command would overwrite what it reads. */
#ifndef STALLPROF_PROFILER_OUTPUT_CHECK_H
#define STALLPROF_PROFILER_OUTPUT_CHECK_H

#include <stdbool.h>

/*
 * Whether `output` is the regular file `input`, by whatever name; one of the windows in it if that is a folder; or standard input, if
 * it is "-". False for what cannot be looked at, or does not exist yet.
 */
bool output_is_input(const char *output, const char *input);

#endif
