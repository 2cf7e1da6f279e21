/*
 * A comparison: what was asked for, both sides, the tables of their rows, the rules' outcomes.
 *
 * diff.h builds it. Values are normalised: "+2 ms" is per second of wall time, or what diff_unit() says.
 */
#ifndef STALLPROF_PROFILER_DIFF_RESULT_H
#define STALLPROF_PROFILER_DIFF_RESULT_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/diff/diff_overlap.h"
#include "profiler/diff/diff_rule.h"
#include "profiler/diff/diff_side.h"
#include "profiler/diff/diff_sound.h"
#include "profiler/diff/diff_table.h"
#include "profiler/diff/diff_uses.h"

#define DIFF_CONFIDENCE 99.0 /* percent */
#define DIFF_MIN_CHANGE 1.0  /* percent of a row's own value */

/* What is asked for. All is the caller's; the filters are taken over. */
struct diff_task {
	const char *place[2]; /* [1] NULL: two filters of [0] */
	struct diff_filter filter[2];
	enum top_by by;
	const char *type; /* NULL: delay, or the profile's default */
	bool per_given;
	enum diff_per per;
	double confidence, min_change; /* percent */
	bool force;
	bool native; /* rows of the C code below Python, too */
	const struct diff_rule *rules;
	size_t rule_count;
	struct query_access access;
};

enum diff_outcome { DIFF_PASSED, DIFF_FAILED, DIFF_UNJUDGED };

/* What became of a rule. The bounds of growths that rules name (and of total) hold for these rules together, whatever table is
 * shown; `any` has those of the table's row that decided it. */
struct diff_finding {
	const struct diff_rule *rule;
	struct diff_row
	        *row; /* the one that the rule names, or total; NULL: there is none, or it is of any row */
	struct diff_bound bound;
	enum diff_verdict verdict;
	enum diff_outcome outcome;
	char text[1024];
};

struct diff {
	const struct diff_task *task;
	bool paired; /* two filters of the same windows */
	struct diff_side side[2];
	char *type, *unit; /* of the values */
	enum diff_per per;
	struct diff_classes classes;
	struct diff_table table[TOP_BYS]; /* those that are used: has_table */
	bool has_table[TOP_BYS];
	struct diff_row total;
	struct diff_lines against, remarks; /* why it may not be compared; what else is to be known */
	bool refused;                       /* there is something in `against`, and no force */
	bool has_overlap;
	struct diff_overlap overlap;
	bool overlap_by_timeline;
	struct diff_uses uses;         /* of two recordings */
	struct diff_finding *findings; /* one a rule */
	size_t finding_count;
};

/* 0: fine; 1: a rule failed; 2: it was refused, or a rule cannot be judged. */
int diff_status(const struct diff *diff);

/* " per s of wall time", " per request", ...; "" where nothing is normalised. */
const char *diff_unit(const struct diff *diff);

/* "Each row is divided by its own tags' time, ..." where rows are divided by something else than the total, so that one may be
 * larger than that; else "". */
const char *diff_rows_text(const struct diff *diff);

/* The table that is shown. */
struct diff_table *diff_shown(struct diff *diff);

/* new - base in percent of base; infinite where base has none and new has. */
double diff_percent(const struct diff_bound *bound);

#endif
