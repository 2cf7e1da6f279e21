/*
 * How long a use of a tag took: the wall time of an exact tag in one process, of all threads that had it, less that of tags pushed within it. Of what is done a few times in
 * a recording, as checkpoints, windows say little, and the uses say all; and samples tell of waits alone, uses of time on the CPU and in the run
 * queue, too.
 *
 *     diff_uses_add(&uses, side, &filter, &classes, ledger)     each window of each side
 *     diff_uses_judge(&uses, &classes, confidence)
 *     diff_uses_free(&uses)
 *
 * The uses of both sides are compared by their ranks (Mann and Whitney), and by their means, as a few of many may take most of the time.
 * Those of one run are alike for reasons of the run's: where both sides have several processes, all of one must be above all of the other
 * by their medians (or means); where not, the difference must be larger.
 */
#ifndef STALLPROF_PROFILER_DIFF_USES_H
#define STALLPROF_PROFILER_DIFF_USES_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/diff/diff_classes.h"
#include "profiler/diff/diff_filter.h"
#include "profiler/diff/diff_table.h"

struct diff_use;
struct ledger;

#define DIFF_USES_LEAST 5          /* of a class on a side, for them to be compared */
#define DIFF_USES_MAX   (1u << 16) /* of a class on a side; what is beyond is left out */

/* [0]: BASE, [1]: NEW. */
struct diff_use_class {
	const char *class;
	size_t count[2];
	double median_ns[2], mean_ns[2];
	double whole_ns[2];                 /* all of them */
	double oncpu_ns[2], runqueue_ns[2]; /* of a use, on average */
	bool significant;                   /* by their ranks, by processes, and large enough */
	bool mean_significant;              /* by their means, by processes, and by half at least */
	enum diff_verdict
	        verdict; /* DIFF_UNKNOWN: too few; DIFF_SMALL: they take less than a hundredth of what the longest do */
};

/* All zero: there are none. */
struct diff_uses {
	struct diff_use *by_key[2];
	size_t count[2], of_class[2][DIFF_CLASSES_MAX];
	bool too_many;
	struct diff_use_class classes[DIFF_CLASSES_MAX]; /* those that a side has, after diff_uses_judge() */
	size_t n;
};

/* 0 or -ENOMEM. */
int diff_uses_add(struct diff_uses *uses, int side, const struct diff_filter *filter,
                  struct diff_classes *classes, struct ledger *ledger);

/* `confidence`: from 0 to 1, for all classes together. 0 or -ENOMEM. */
int diff_uses_judge(struct diff_uses *uses, const struct diff_classes *classes, double confidence);

/* Whether they took another time, by more than is within noise. */
bool diff_uses_changed(const struct diff_use_class *class);

/* NULL: neither side has it. */
const struct diff_use_class *diff_uses_find(const struct diff_uses *uses, const char *class);

void diff_uses_free(struct diff_uses *uses);

#endif
