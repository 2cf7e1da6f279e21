/*
 * What `stallprof top` found, as text for people: first the ledger, then the table, then what was not seen.
 *
 * When out is a terminal, names are cut to its width; otherwise they are written in full. Whatever in a name
 * could steer a terminal is escaped.
 */
#ifndef STALLPROF_PROFILER_TOP_TEXT_H
#define STALLPROF_PROFILER_TOP_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "profiler/top_table.h"

struct top_input;

/* One row a tag, those that stalled longest first, and their sum; at most limit rows (0: all). 0 or -ENOMEM.
 */
int top_text_ledger(FILE *out, const struct top_input *input, const struct top_tags *tags,
                    const struct top_filter *filter, size_t limit);

/* type: the name and unit of what was summed. */
void top_text_table(FILE *out, const struct top_table *table, enum top_by by, struct profile_value_type type,
                    size_t limit);

void top_text_stamp(FILE *out, const struct top_input *input);

#endif
