/* What is blocked where no stacks tell of it: the kinds of waits, by class, from the ledger. */
#ifndef STALLPROF_PROFILER_TOP_BLOCKED_TEXT_H
#define STALLPROF_PROFILER_TOP_BLOCKED_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "profiler/top/top_code.h"

/* The number of lines; 0 where waits are not what was asked for. */
size_t top_text_blocked(FILE *out, const struct top_code_text *what);

/* How much of the ledger's blocked time is not in the section of the stacks, by class: waits too short for one. The number of lines. */
size_t top_text_blocked_rest(FILE *out, const struct top_code_text *what, const struct top_section *section);

#endif
