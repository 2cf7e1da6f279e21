/*
 * The ledger as a table: where the time of each class of tags went, the class that lost most first.
 *
 * A row is a class; with a filter for a tag it is the next level of the names below that (`ckpt/run1` has rows
 * `ckpt/run1/step5`), with TOP_LEVEL_TAG an exact tag: name and id, with TOP_LEVEL_PROCESS a class of one process. A
 * table has one level only. Times add up a row's threads. Steps are the exact tags of a process: p50, p99
 * (interpolated, as numpy.percentile() does) and worst are of their wall times.
 */
#ifndef STALLPROF_PROFILER_TOP_CLASSES_H
#define STALLPROF_PROFILER_TOP_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/top/top_sample.h"

struct ledger_row;
struct top_input;

#define TOP_COLUMNS_MAX 32

enum top_level { TOP_LEVEL_CLASS, TOP_LEVEL_TAG, TOP_LEVEL_PROCESS };

struct top_class {
	char *name;
	uint64_t id;     /* of an exact tag, 0: none; else 0 */
	bool base;       /* the tag of a process whose threads push others: time without a pushed tag */
	int64_t wall_ns; /* sum over threads */
	int64_t lost_ns; /* off the CPU; of a base without blocked time, as idle threads are blocked */
	/* A column may be negative in one window's file, where it takes back what the window before had
	 * provisionally. */
	int64_t ns[TOP_COLUMNS_MAX];
	size_t tags; /* exact ones */
	int64_t p50_ns, p99_ns, worst_ns;
	const struct ledger_row *worst; /* a row of that step */
};

struct top_classes {
	/* oncpu, runqueue, each cause that occurs (by name; beyond the maximum: "stall"), blocked, and undecided
	 * and unobserved if they occur. */
	const char *columns[TOP_COLUMNS_MAX];
	size_t column_count;
	struct top_class *rows; /* pushed tags first, then lost longest, then by wall time, then by name */
	size_t count;
	size_t processes;
	size_t matched; /* rows of the ledger */
};

/* Texts are the ledger's own. 0 or -ENOMEM; only after 0 is there something to free. */
int top_classes_build(struct top_classes *table, const struct top_input *input,
                      const struct top_filter *filter, enum top_level level);
void top_classes_free(struct top_classes *table);

/* The row of that name, or NULL. */
const struct top_class *top_classes_find(const struct top_classes *table, const char *name);

/* Writes to `name` under which name a row of the ledger is counted, cut to `size`. */
void top_level_name(const struct ledger_row *row, const struct top_filter *filter, char *name, size_t size);

#endif
