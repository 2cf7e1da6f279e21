/*
 * The ledger as a table: one row a tag, one column a state or cause.
 */
#ifndef STALLPROF_PROFILER_TOP_LEDGER_H
#define STALLPROF_PROFILER_TOP_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "profiler/top_sample.h"

struct top_input;

#define TOP_LEDGER_COLUMNS_MAX 32

struct top_ledger_row {
	const char *tag;
	uint64_t wall_ns;
	uint64_t stalled_ns;
	uint64_t ns[TOP_LEDGER_COLUMNS_MAX]; /* as the columns */
};

struct top_ledger {
	/* oncpu, runqueue, each cause that occurs (by name; beyond the maximum: "stall"), blocked, unobserved
	 * if it occurs. */
	const char *columns[TOP_LEDGER_COLUMNS_MAX];
	size_t column_count;
	struct top_ledger_row *rows; /* stalled longest first, then by wall time, then by tag */
	size_t row_count;
	struct top_ledger_row sum; /* over all rows; its tag is "" */
	size_t processes;
};

/* Texts are the ledger's own. 0 or -ENOMEM; only after 0 is there something to free. */
int top_ledger_build(struct top_ledger *table, const struct top_input *input, const struct top_tags *tags,
                     const struct top_filter *filter);
void top_ledger_free(struct top_ledger *table);

#endif
