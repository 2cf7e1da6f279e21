/* The parts of diff_build() that look at sums: normalising, bounds and verdicts, and the rules. */
#ifndef STALLPROF_PROFILER_DIFF_JUDGE_H
#define STALLPROF_PROFILER_DIFF_JUDGE_H

#include <stddef.h>

struct diff;

/* Chooses how to normalise and judges total and rows. 0; -ENODATA: a side lacks what it is to be normalised by; -ENOMEM; with a
 * line in err. */
int diff_judge(struct diff *diff, char *err, size_t err_size);

/* Fills the findings. 0 or -ENOMEM. */
int diff_judge_rules(struct diff *diff);

#endif
