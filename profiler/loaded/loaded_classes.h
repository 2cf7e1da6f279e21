/*
 * The ledger as a table: where the time of each class of tags went, the class that lost most first.
 *
 * A row is a class; with a filter for a tag it is the next level of the names below that (`ckpt/run1` has rows
 * `ckpt/run1/step5`), with LOADED_LEVEL_TAG an exact tag: name and id, with LOADED_LEVEL_PROCESS a class of one process. A
 * table has one level only. Times add up a row's threads. Steps are the exact tags of a process: p50, p99
 * (interpolated, as numpy.percentile() does) and worst are of their wall times.
 */
#ifndef STALLPROF_PROFILER_LOADED_CLASSES_H
#define STALLPROF_PROFILER_LOADED_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/loaded/loaded_sample.h"

struct ledger_row;
struct loaded_profiles;

#define LOADED_COLUMNS_MAX 32

enum loaded_level { LOADED_LEVEL_CLASS, LOADED_LEVEL_TAG, LOADED_LEVEL_PROCESS };

struct loaded_class {
	char *name;
	uint64_t id;     /* of an exact tag, 0: none; else 0 */
	bool base;       /* the tag of a process whose threads push others: time without a pushed tag */
	int64_t wall_ns; /* sum over threads */
	int64_t lost_ns; /* off the CPU; of a base without blocked time, as idle threads are blocked */
	/* A column may be negative in one window's file, where it takes back what the window before had
	 * provisionally. */
	int64_t ns[LOADED_COLUMNS_MAX];
	size_t tags; /* exact ones */
	int64_t p50_ns, p99_ns, worst_ns;
	const struct ledger_row
	        *worst; /* a row of that step; NULL: the ledger had no room for any by itself */
};

struct loaded_classes {
	/* oncpu, runqueue, each cause that occurs (by name; beyond the maximum: "stall"), blocked, and undecided
	 * and unobserved if they occur. */
	const char *columns[LOADED_COLUMNS_MAX];
	size_t column_count;
	struct loaded_class *rows; /* pushed tags first, then lost longest, then by wall time, then by name */
	size_t count;
	size_t processes;
	size_t matched; /* rows of the ledger */
};

/* Texts are the ledger's own. 0 or -ENOMEM; only after 0 is there something to free. */
int loaded_classes_build(struct loaded_classes *table, const struct loaded_profiles *input,
                         const struct loaded_filter *filter, enum loaded_level level);
void loaded_classes_free(struct loaded_classes *table);

/* The row of that name, or NULL. */
const struct loaded_class *loaded_classes_find(const struct loaded_classes *table, const char *name);

/* Writes to `name` under which name a row of the ledger is counted, cut to `size`. */
void loaded_level_name(const struct ledger_row *row, const struct loaded_filter *filter, char *name,
                       size_t size);

#endif
