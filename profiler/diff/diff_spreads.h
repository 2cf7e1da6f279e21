/*
 * What the values of rows are divided by: by the classes of tags that a row is in, over all windows (diff_spreads_per()), and by
 * window for those rows that are judged (diff_spreads_index()).
 */
#ifndef STALLPROF_PROFILER_DIFF_SPREADS_H
#define STALLPROF_PROFILER_DIFF_SPREADS_H

#include <stdint.h>

#include "profiler/diff/diff_bounds.h"
#include "profiler/diff/diff_classes.h"
#include "profiler/diff/diff_side.h"

struct diff;

struct diff_spreads {
	const struct diff *diff;
	enum diff_per weight;            /* what windows are weighted by */
	double sum[2][DIFF_CLASSES_MAX]; /* of that, by side and class */
	struct diff_spread *spread;      /* of the judged rows, one for each set of classes */
	uint64_t *classes;               /* which set that is */
	size_t count;
};

/* After it is chosen what is normalised by (diff->per), and while diff stays where it is. */
void diff_spreads_init(struct diff_spreads *spreads, const struct diff *diff);
void diff_spreads_free(struct diff_spreads *spreads);

/* What a row's sums are multiplied with; classes: a bit for each number of diff_classes.h, 0: all. */
void diff_spreads_per(const struct diff_spreads *spreads, uint64_t classes, double per[2]);

/* The index of the spread for rows in these classes, which is made if it is new. Negative: -ENOMEM. */
int64_t diff_spreads_index(struct diff_spreads *spreads, uint64_t classes);

/* What values refer to, of an amount: a second, a request, a MiB. */
double diff_per_one(enum diff_per per);

#endif
