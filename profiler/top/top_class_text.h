/*
 * The table of classes (loaded_classes.h) as text: each with its times, and below them their share of the class's own wall
 * time; then how long the steps of a class are.
 *
 *     2 s in 1 window, 3 processes. Times add up a tag's threads; below them their share of its wall time.
 *                    threads     wall    oncpu  runqueue  block_io  blocked
 *     data_load         1.20   2.41 s   310 ms    12.4 ms    462 ms   1.63 s
 *                                       12.9 %     0.5 %    19.2 %   67.4 %
 *
 *                       tags      p50      p99    worst
 *     data_load          100  21.2 ms   101 ms   1.02 s  data_load id=1
 */
#ifndef STALLPROF_PROFILER_TOP_CLASS_TEXT_H
#define STALLPROF_PROFILER_TOP_CLASS_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "profiler/loaded/loaded_classes.h"

struct stamp_coverage;

/*
 * Prints at most `limit` rows (0: all), in at most `columns` columns (0: no bound); to fit in, the least causes are
 * summed in one column. Returns the number of lines.
 */
size_t top_text_classes(FILE *out, struct loaded_classes *table, const struct stamp_coverage *coverage,
                        size_t limit, size_t columns);

#endif
