/* What a recording could not see for want of hooks: lines among those of top_seen.h. */
#ifndef STALLPROF_PROFILER_TOP_HOOKS_H
#define STALLPROF_PROFILER_TOP_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct stamp;

/* Lines of losses, printed while there is room for them. */
struct losses {
	FILE *out;
	size_t limit, lines, more; /* limit 0: none */
};

/* Counts a line; false: there is no room. The last line is reserved for saying so. */
bool losses_begin_line(struct losses *losses);

/* A line for each reason for which causes have lost hooks, and for each cause that was switched off. */
void top_hooks_tell(struct losses *losses, const struct stamp *stamp);

/* How many there are of each state, and each that was not attached, with why. */
void top_hooks_print(FILE *out, const struct stamp *stamp);

#endif
