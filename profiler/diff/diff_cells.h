/* Values of a comparison as text. */
#ifndef STALLPROF_PROFILER_DIFF_CELLS_H
#define STALLPROF_PROFILER_DIFF_CELLS_H

#include <stddef.h>

#include "profiler/diff/diff_table.h"

struct diff;
struct diff_side;
struct diff_use_class;

#define DIFF_CELL_BYTES 64
#define DIFF_SIDE_BYTES 1024

/* "12.3 ms" of durations, "1.2e+06" or "12.3" of other units. */
const char *diff_cell_value(char text[DIFF_CELL_BYTES], const struct diff *diff, double value);

/* The same with + or -. */
const char *diff_cell_change(char text[DIFF_CELL_BYTES], const struct diff *diff, double value);

/* "+5.1 %"; "x 5400" above 10,000 %; "new" where BASE has none, "gone" where NEW has none. */
const char *diff_cell_percent(char text[DIFF_CELL_BYTES], const struct diff_bound *bound);

/* "+1.2 ms .. +3.4 ms", or "" without bounds. */
const char *diff_cell_bounds(char text[2 * DIFF_CELL_BYTES], const struct diff *diff,
                             const struct diff_bound *bound);

/* "run.pb.gz ai_tag=train_step: 20.1 s in 20 slices of one file" */
const char *diff_side_text(char text[DIFF_SIDE_BYTES], const struct diff_side *side);

/* "99 % bounds by 20 and 21 windows", or that there are none and why. */
const char *diff_bounds_text(char text[DIFF_SIDE_BYTES], const struct diff *diff);

#define DIFF_USE_BYTES 768
/* "train_step: 68.1 ms to 220 ms (+223.1 %); on average 70.2 ms to 223 ms, of it on-CPU 66 ms to 72 ms, run queue 2 ms to 148 ms; 200 and 200
 * uses: worse": first the median. */
const char *diff_use_text(char text[DIFF_USE_BYTES], const struct diff_use_class *use);

/* The first line of a name: stacks have several. */
size_t diff_name_length(const char *name);

#endif
