/*
 * Looking at profiles: where the time went, which code waited, and what was not seen.
 *
 * `stallprof top` is cmd_top.h; this is what the rest of the program may call.
 */
#ifndef STALLPROF_PROFILER_TOP_H
#define STALLPROF_PROFILER_TOP_H

#include <stddef.h>
#include <stdio.h>

struct profile;

#define TOP_FITS SIZE_MAX /* as a limit: as many rows as fit a screen of 60 lines */

/*
 * Prints the first screen (top_screen.h) of p with at most n_top classes, and lines of code for each cause (0: all; or
 * TOP_FITS). `path` is where p lies, NULL: nowhere yet. Without memory it prints what it can.
 */
void top_print_summary(FILE *out, const struct profile *p, const char *path, size_t n_top);

#endif
