/*
 * A line for who computes rather than waits: where its code is to be seen, or how to record that, as the lines of code of the screen
 * (top_code_text.h) are those that wait.
 */
#ifndef STALLPROF_PROFILER_TOP_ONCPU_H
#define STALLPROF_PROFILER_TOP_ONCPU_H

#include <stddef.h>
#include <stdio.h>

struct loaded_classes;
struct loaded_profiles;
struct loaded_tags;

/* An empty line and one more where a class had a CPU, or waited for one, for half of its time, and had one for a tenth of what the recording
 * covers; of several it names the one that had a CPU longest. `type` is the value type that the screen shows: nothing if that is CPU time.
 * Returns the number of lines. */
size_t top_text_oncpu(FILE *out, const struct loaded_profiles *input, const struct loaded_tags *tags,
                      size_t type, const struct loaded_classes *classes);

#endif
