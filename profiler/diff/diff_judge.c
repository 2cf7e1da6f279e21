/* Normalises the sums of both sides, judges their differences, and the rules. */

#include "profiler/diff/diff_judge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/diff/diff_result.h"

#define SMALLEST_PART 0.001 /* of the larger total: rows below it are not judged */
#define ROWS_MAX      4000  /* judged together */
#define MIB           (1024.0 * 1024.0)

static const char *const side_names[] = { "BASE", "NEW" };

/* --- normalising ------------------------------------------------------------------------------------------ */

static const struct {
	double one; /* of the amount, to which values refer */
	const char *lacks;
} pers[DIFF_PERS] = {
	[DIFF_PER_WALL] = { 1e9, "does not say what time it covers" },
	[DIFF_PER_TAG] = { 1e9, "has no ledger of tags that pass its filter" },
	[DIFF_PER_IO] = { 1, "has no requests of tags that pass its filter" },
	[DIFF_PER_BYTES] = { MIB, "has no requests of tags that pass its filter" },
	[DIFF_PER_NONE] = { 1, "" },
};

static bool has_amount(const struct diff *diff, enum diff_per per)
{
	return diff->side[0].amount[per] > 0 && diff->side[1].amount[per] > 0;
}

/* Unless asked for: filters of one profile by their tags' time, all else by wall time, as far as it is known. */
static int choose_per(struct diff *diff, char *err, size_t err_size)
{
	const struct diff_task *task = diff->task;
	enum diff_per per = diff->paired ? DIFF_PER_TAG : DIFF_PER_WALL;

	if (task->per_given)
		per = task->per;
	else if (per == DIFF_PER_TAG && !has_amount(diff, per))
		per = DIFF_PER_WALL;
	diff->per = per;
	if (per == DIFF_PER_NONE || has_amount(diff, per))
		return 0;
	if (!task->per_given) {
		diff->per = DIFF_PER_NONE;
		diff_lines_add(&diff->remarks, "Nothing is normalised, as %s %s.",
		               side_names[diff->side[0].amount[per] > 0], pers[per].lacks);
		return 0;
	}
	snprintf(err, err_size, "%s cannot be normalised by %s, as it %s: choose another --normalize",
	         side_names[diff->side[0].amount[per] > 0], diff_per_name(per), pers[per].lacks);
	return -ENODATA;
}

/*
 * What a window's values are divided by. Where nothing is normalised that is its waits, so that bounds rest on how long a wait
 * took: of the same work a window may have more or less. Waits cannot say that of their own number.
 */
static enum diff_per weight_of(const struct diff *diff)
{
	if (diff->per != DIFF_PER_NONE)
		return diff->per;
	return has_amount(diff, DIFF_PER_NONE) && strcmp(diff->type, "contentions") != 0 ? DIFF_PER_NONE
	                                                                                 : DIFF_PER_WALL;
}

/* The spreads of rows, by the classes of tags that they are in. */
struct spreads {
	struct diff *diff;
	struct diff_spread *spread;
	uint64_t *classes;
	size_t count;
};

static double amount_of(const struct diff_window *window, uint64_t classes, enum diff_per per)
{
	double sum = 0;

	if (per == DIFF_PER_WALL || !classes)
		return window->amount[per];
	for (unsigned int c = 0; c < DIFF_CLASSES_MAX; c++)
		if (classes >> c & 1)
			sum += window->of[c][per];
	return sum;
}

/* Where the classes have none of the amount, that of all classes stands for it; where these have none, windows are alike. */
static int fill_side(const struct spreads *spreads, struct diff_spread *spread, int s, uint64_t classes)
{
	const struct diff_side *side = &spreads->diff->side[s];
	enum diff_per per = spreads->diff->per, weight = weight_of(spreads->diff);
	double sum = 0;

	spread->weight[s] = malloc((side->count + 1) * sizeof(double));
	if (!spread->weight[s])
		return -ENOMEM;
	for (size_t i = 0; i < side->count; i++) {
		spread->weight[s][i] = amount_of(&side->windows[i], classes, weight);
		sum += spread->weight[s][i];
	}
	for (size_t i = 0; i < side->count && !(sum > 0); i++)
		spread->weight[s][i] = side->amount[weight] > 0 ? side->windows[i].amount[weight] : 1;
	if (!(sum > 0))
		sum = side->amount[weight] > 0 ? side->amount[weight] : (double)side->count;
	spread->scale[s] = per == DIFF_PER_NONE ? sum : pers[per].one;
	return 0;
}

/* The index of the spread for rows in these classes; 0: all. Negative: -ENOMEM. */
static int64_t spread_for(struct spreads *spreads, uint64_t classes)
{
	struct diff_spread *spread;
	uint64_t *known;
	size_t n = spreads->count;

	for (size_t i = 0; i < n; i++)
		if (spreads->classes[i] == classes)
			return (int64_t)i;
	spread = realloc(spreads->spread, (n + 1) * sizeof(*spread));
	spreads->spread = spread ? spread : spreads->spread;
	known = realloc(spreads->classes, (n + 1) * sizeof(*known));
	spreads->classes = known ? known : spreads->classes;
	if (!spread || !known)
		return -ENOMEM;
	spread[n] = (struct diff_spread){ .scale = { 0, 0 } };
	known[n] = classes;
	spreads->count++;
	for (int s = 0; s < 2; s++)
		if (fill_side(spreads, &spread[n], s, classes))
			return -ENOMEM;
	return (int64_t)n;
}

static void spreads_free(struct spreads *spreads)
{
	for (size_t i = 0; i < spreads->count; i++) {
		free(spreads->spread[i].weight[0]);
		free(spreads->spread[i].weight[1]);
	}
	free(spreads->spread);
	free(spreads->classes);
}

/* --- verdicts --------------------------------------------------------------------------------------------- */

static enum diff_verdict verdict_of(const struct diff_row *row, double min_change)
{
	const struct diff_bound *bound = &row->bound;
	double difference = bound->value[1] - bound->value[0];

	if (!(difference > 0) && !(difference < 0))
		return DIFF_SAME;
	if (!bound->judged)
		return DIFF_UNKNOWN;
	if ((bound->low <= 0 && bound->high >= 0) || fabs(diff_percent(row)) < min_change)
		return DIFF_NOISE;
	return difference > 0 ? DIFF_WORSE : DIFF_BETTER;
}

static int set_bound(struct spreads *spreads, struct diff_row *row)
{
	int64_t index = spread_for(spreads, row->classes);

	if (index < 0)
		return -ENOMEM;
	row->bound.spread = (size_t)index;
	for (int s = 0; s < 2; s++) {
		const struct diff_spread *spread = &spreads->spread[index];
		double weight = 0;

		for (size_t i = 0; i < spreads->diff->side[s].count; i++)
			weight += spread->weight[s][i];
		row->per[s] = weight > 0 ? spread->scale[s] / weight : 0;
		row->bound.side[s] = &row->points[s];
		row->bound.value[s] = row->per[s] * diff_points_sum(&row->points[s]);
	}
	row->bound.low = row->bound.high = row->bound.value[1] - row->bound.value[0];
	return 0;
}

/* How large a part of a side's total a row is. */
static double part_of(const struct diff *diff, const struct diff_row *row)
{
	double largest = 0;

	for (int s = 0; s < 2; s++)
		if (diff->total.own[s] > 0)
			largest = fmax(largest, fabs(diff_points_sum(&row->points[s])) / diff->total.own[s]);
	return largest;
}

static int compare_parts(const void *left, const void *right)
{
	const struct diff_row *a = *(struct diff_row *const *)left, *b = *(struct diff_row *const *)right;
	int order = b->wanted - a->wanted;

	order = order ? order : (b->part > a->part) - (b->part < a->part);
	return order ? order : strcmp(a->name, b->name);
}

/* Puts the rows that are to be judged first. Their number, or -ENOMEM. */
static int64_t choose_rows(struct spreads *spreads, struct diff_table *table)
{
	size_t n = 0;

	for (size_t i = 0; i < table->count; i++) {
		table->rows[i]->part = part_of(spreads->diff, table->rows[i]);
		if (set_bound(spreads, table->rows[i]))
			return -ENOMEM;
	}
	if (table->count)
		qsort(table->rows, table->count, sizeof(*table->rows), compare_parts);
	while (n < table->count && n < ROWS_MAX &&
	       (table->rows[n]->wanted || table->rows[n]->part >= SMALLEST_PART))
		n++;
	return (int64_t)n;
}

/* Judges the rows of a table, with the total, together. */
static int judge_table(struct spreads *spreads, struct diff_table *table)
{
	struct diff *diff = spreads->diff;
	int64_t n = choose_rows(spreads, table);
	struct diff_windows windows = { .count = { diff->side[0].count, diff->side[1].count },
		                        .pairing = diff->paired ? DIFF_PAIRED : DIFF_SEPARATE,
		                        .spreads = spreads->spread,
		                        .spread_count = spreads->count };
	struct diff_bound *bounds = n < 0 ? NULL : calloc((size_t)n + 1, sizeof(*bounds));
	int err;

	if (!bounds)
		return -ENOMEM;
	bounds[0] = diff->total.bound;
	for (int64_t i = 0; i < n; i++)
		bounds[i + 1] = table->rows[i]->bound;
	err = diff_bounds(bounds, (size_t)n + 1, &windows, diff->task->confidence / 100);
	for (size_t i = 0; i < table->count; i++) {
		struct diff_row *row = table->rows[i];

		if ((int64_t)i < n)
			row->bound = bounds[i + 1];
		row->verdict = (int64_t)i < n ? verdict_of(row, diff->task->min_change) : DIFF_SMALL;
	}
	if (table->by == diff->task->by) {
		diff->total.bound = bounds[0];
		diff->total.verdict = verdict_of(&diff->total, diff->task->min_change);
	}
	free(bounds);
	diff_table_sort(table);
	return err;
}

static void mark_wanted(struct diff *diff)
{
	for (size_t i = 0; i < diff->task->rule_count; i++) {
		const struct diff_rule *rule = &diff->task->rules[i];
		struct diff_row *row = rule->subject == DIFF_NAMED
		                               ? diff_table_find(&diff->table[rule->what], rule->name)
		                               : NULL;

		if (row)
			row->wanted = true;
	}
}

int diff_judge(struct diff *diff, char *err, size_t err_size)
{
	struct spreads spreads = { .diff = diff };
	int result = choose_per(diff, err, err_size);

	if (!result) {
		mark_wanted(diff);
		result = set_bound(&spreads, &diff->total);
	}
	for (unsigned int by = 0; by < TOP_BYS && !result; by++)
		if (diff->has_table[by])
			result = judge_table(&spreads, &diff->table[by]);
	spreads_free(&spreads);
	return result;
}
