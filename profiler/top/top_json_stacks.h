/* The "stacks" and "waits" of `stallprof top --json`: what each is made of stands in top_json.h. */
#ifndef STALLPROF_PROFILER_TOP_JSON_STACKS_H
#define STALLPROF_PROFILER_TOP_JSON_STACKS_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/loaded/loaded_sample.h"

struct json_writer;
struct loaded_profiles;

/* Writes `key` and the samples that pass the filter, of stalls or, with `waits`, of other waits, heaviest first, `limit`
 * at most (0: all). 0 or -ENOMEM. */
int top_json_stacks(struct json_writer *json, const char *key, const struct loaded_profiles *input,
                    const struct loaded_tags *tags, const struct loaded_filter *filter, bool waits,
                    size_t limit);

#endif
