/*
 * A table of samples (top_table.h) as text for people.
 *
 * When out is a terminal, names are cut to its width; otherwise they are written in full. Whatever in a name
 * could steer a terminal is escaped.
 */
#ifndef STALLPROF_PROFILER_TOP_TEXT_H
#define STALLPROF_PROFILER_TOP_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "profiler/top/top_table.h"

/* type: the name and unit of what was summed. At most `limit` rows (0: all). */
void top_text_table(FILE *out, const struct top_table *table, enum top_by by, struct profile_value_type type,
                    size_t limit);

#endif
