/*
 * Samples of two sides, summed by what is compared and by window: a row is a function, a line, a stall, ...
 */
#ifndef STALLPROF_PROFILER_DIFF_TABLE_H
#define STALLPROF_PROFILER_DIFF_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/diff/diff_bounds.h"
#include "profiler/format/near_names.h"
#include "profiler/top/top_names.h"

enum diff_verdict {
	DIFF_SAME,    /* no difference at all */
	DIFF_SMALL,   /* too small a part of the whole to be judged */
	DIFF_NOISE,   /* the windows of a side differ as much among each other */
	DIFF_UNKNOWN, /* there is a difference, and only one window with what it is divided by, so no bounds */
	DIFF_BETTER,
	DIFF_WORSE
};

/* "same", "small", "within noise", "no bounds", "better", "worse" */
const char *diff_verdict_name(enum diff_verdict verdict);

/* flat and own are sums of one value type, to be multiplied with `per` to be normalised. */
struct diff_row {
	char *name;
	struct diff_points points[2]; /* what has the name anywhere in the stack, by window */
	double flat[2];               /* where it is the leaf */
	double own[2]; /* where it is the innermost frame of the program's own code (loaded_frames.h) */
	bool code;     /* it is a frame of the program's own code: not the kernel's, nor a library's */
	double change, own_change, score; /* what rows are sorted by; set by diff_table_sort() */
	uint64_t last_sample;             /* a function that recurs in a stack counts once */
	uint64_t classes;                 /* in which it is: a bit for each number of diff_classes.h */
	bool shown, repeated;             /* by diff_table_show() */
	bool wanted;                      /* a rule names it: it is judged, however small */
	bool seen;                        /* in some stack it is no frame that loaded_stack_folds() */
	double part;                      /* of the larger side's total */
	double per[2];
	struct diff_bound bound;
	enum diff_verdict verdict;
};

struct diff_names;

struct diff_table {
	enum top_by by;
	bool native;            /* rows and names of stacks have the native frames below Python's, too */
	struct diff_row **rows; /* as diff_table_sort() has them */
	size_t count, folded;   /* behind `count` rows those that diff_table_fold() has put aside */
	struct diff_names *by_name;
};

/* 0 or -ENOMEM; only after 0 is there something to free. */
int diff_table_init(struct diff_table *table, enum top_by by, bool native);
void diff_table_free(struct diff_table *table);

/* A sample of a side (0: base, 1: new) in a window. */
struct diff_sample {
	const struct loaded_profiles *input;
	const struct loaded_sample *sample;
	int side;
	uint32_t window;
	double value;
	uint64_t number; /* each has another one, from 1 on */
	int class;       /* by diff_classes.h */
};

/* 0, -ENOMEM. */
int diff_table_add(struct diff_table *table, const struct diff_sample *sample);

/*
 * Without `native`: puts aside the rows that are native code below Python's wherever they are, as `top` and `flame` fold it.
 * A row that a rule names stays. No value changes: rows have what they have with `native`. Names are found as before.
 */
void diff_table_fold(struct diff_table *table);

/* The row of that name; NULL: neither side has it. */
struct diff_row *diff_table_find(const struct diff_table *table, const char *name);

/*
 * As diff_table_find(). Of a table of lines also the one row "FUNCTION PATH:LINE" that `name` is the end of: "FILE:LINE", or
 * "FUNCTION FILE:LINE", where FILE is the end of PATH from a slash on. *count: how many rows are so; NULL unless it is 1.
 */
struct diff_row *diff_table_match(const struct diff_table *table, const char *name, size_t *count);

/* Of the rows that are so, where there are several; else the names most like it, of lines by file and line. "" without any.
 * Returns text. */
const char *diff_table_near(char text[NEAR_NAMES_BYTES], const struct diff_table *table, const char *name);

/*
 * What was judged worse or better first, of that the program's own code, and of this the largest square of the difference over the value: a function that changed has
 * the difference that its callers have, too, and less else. Of equal ones, and among the others, the largest difference in own
 * code comes first, then the largest of all.
 */
void diff_table_sort(struct diff_table *table);

/*
 * Marks as shown the first `limit` rows (0: all), without those that only repeat the total or a row before them: functions of others'
 * code that have the same values, as they are in just the same stacks. Returns how many are shown.
 */
size_t diff_table_show(struct diff_table *table, const struct diff_row *total, size_t limit);

#endif
