/*
 * What one class of tags did to the others: how much longer the others waited for the same cause and device while that class
 * waited for it, too.
 *
 * Time is looked at in buckets. In the active ones the disturber waited for a cause on a device. What another class waited there for
 * the same is compared with what it would have waited at the rate that it has in all other buckets; the difference is caused by
 * the disturber, as far as coincidence tells. Bounds are those of blocks of buckets, drawn again with replacement.
 */
#ifndef STALLPROF_PROFILER_DIFF_OVERLAP_H
#define STALLPROF_PROFILER_DIFF_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/diff/diff_filter.h"

#define DIFF_BLOCKS_MAX 60

struct ledger;
struct timeline;

/* By a timeline these are sums of sampled waits, not exactly those of the ledger. */
struct diff_overlap_row {
	const char *class, *stall, *device;
	double whole_ns;        /* what the class waited for the cause on the device in all */
	double together_ns;     /* of that, in active buckets */
	double expected_ns;     /* there, at the rate of the other buckets */
	double low_ns, high_ns; /* of together_ns - expected_ns */
	double active_ns;       /* how long the active buckets are */
	bool judged;            /* there are bounds, and buckets that are not active */
};

struct diff_overlap {
	struct diff_overlap_row *rows; /* that caused most first */
	size_t count;
	size_t buckets;
	size_t blocks;    /* on which the bounds rest */
	double bucket_ns; /* how long one is, on average */
	struct overlap_lanes *lanes;
};

/* 0 or -ENOMEM; only after 0 is there something to free. */
int diff_overlap_init(struct diff_overlap *overlap);
void diff_overlap_free(struct diff_overlap *overlap);

/* Adds a bucket: a window with its ledger. 0, -ENOMEM. */
int diff_overlap_add(struct diff_overlap *overlap, double duration_ns, struct ledger *ledger);

/* Adds the buckets of a timeline from begin_ns to end_ns, in place of windows: they are finer. 0; -ENODATA: it has no stalls
 * then; -ENOMEM. */
int diff_overlap_add_timeline(struct diff_overlap *overlap, const struct timeline *timeline,
                              uint64_t begin_ns, uint64_t end_ns);

/* Fills the rows; the disturber is what the filter lets pass. 0, -ENOMEM. */
int diff_overlap_judge(struct diff_overlap *overlap, const struct diff_filter *disturber, double confidence);

#endif
