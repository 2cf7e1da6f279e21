/* Prints blocked time for which there are no stacks: the kinds of waits, by class, from the ledger. */
#ifndef STALLPROF_PROFILER_TOP_BLOCKED_TEXT_H
#define STALLPROF_PROFILER_TOP_BLOCKED_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "profiler/top/top_code.h"

/* Returns the number of lines; 0 when waits were not asked for. */
size_t top_text_blocked(FILE *out, const struct top_code_text *what);

/* Prints by class how much of the ledger's blocked time is not in the section with stacks: waits too short for one.
 * Returns the number of lines. */
size_t top_text_blocked_rest(FILE *out, const struct top_code_text *what, const struct top_section *section);

#endif
