/*
 * Looking at profiles: the ledger, the heaviest stacks, and what was not seen.
 *
 * `stallprof top` is cmd_top.h; this is what the rest of the program may call.
 */
#ifndef STALLPROF_PROFILER_TOP_H
#define STALLPROF_PROFILER_TOP_H

#include <stddef.h>
#include <stdio.h>

struct profile;

/*
 * Prints the ledger that p carries in its comments, its n_top heaviest stacks (0: all) and its stamp, cut to
 * the width of the terminal when out is one. Without memory it prints what it can.
 */
void top_print_summary(FILE *out, const struct profile *p, size_t n_top);

#endif
