/* The parts of diff_build() that look at sums: normalising, bounds and verdicts, and the rules. */
#ifndef STALLPROF_PROFILER_DIFF_JUDGE_H
#define STALLPROF_PROFILER_DIFF_JUDGE_H

#include <stddef.h>

struct diff;

/* Chooses how to normalise, judges total and rows, and begins the findings: with the bounds of what the rules name. 0; -ENODATA: a side lacks what it is to be normalised by; -ENOMEM; with a
 * line in err. */
int diff_judge(struct diff *diff, char *err, size_t err_size);

/* Says what became of the rules, after diff_judge(). */
void diff_judge_rules(struct diff *diff);

#endif
