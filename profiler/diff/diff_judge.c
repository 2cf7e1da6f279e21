/* Normalises the sums of both sides, judges their differences, and the rules. */

#include "profiler/diff/diff_judge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/diff/diff_result.h"
#include "profiler/diff/diff_spreads.h"

#define SMALLEST_PART 0.001 /* of the larger total: rows below it are not judged */
#define ROWS_MAX      4000  /* judged together */

static const char *const side_names[] = { "BASE", "NEW" };

/* --- normalising ------------------------------------------------------------------------------------------ */

static const char *const lacks[DIFF_PERS] = {
	[DIFF_PER_WALL] = "does not say what time it covers",
	[DIFF_PER_TAG] = "has no ledger of tags that pass its filter",
	[DIFF_PER_STEP] = "has no steps of tags that pass its filter",
	[DIFF_PER_IO] = "has no requests of tags that pass its filter",
	[DIFF_PER_BYTES] = "has no requests of tags that pass its filter",
	[DIFF_PER_NONE] = "",
};

static bool has_amount(const struct diff *diff, enum diff_per per)
{
	return diff->side[0].amount[per] > 0 && diff->side[1].amount[per] > 0;
}

/* A label by which samples are chosen, and not what they are divided by; NULL: there is none. */
static const char *other_label(const struct diff *diff, enum diff_per per)
{
	bool requests = per == DIFF_PER_IO || per == DIFF_PER_BYTES;
	const char *label = diff_filter_other_label(&diff->side[0].filter, requests);

	if (per == DIFF_PER_WALL || per == DIFF_PER_NONE)
		return NULL;
	return label ? label : diff_filter_other_label(&diff->side[1].filter, requests);
}

/* Unless asked for: filters of one profile by their tags' time, all else by wall time, as far as it is known. */
static int choose_per(struct diff *diff, char *err, size_t err_size)
{
	const struct diff_task *task = diff->task;
	enum diff_per per = diff->paired ? DIFF_PER_TAG : DIFF_PER_WALL;

	if (task->per_given)
		per = task->per;
	else if (per == DIFF_PER_TAG && (!has_amount(diff, per) || other_label(diff, per)))
		per = DIFF_PER_WALL;
	diff->per = per;
	if (other_label(diff, per))
		diff_lines_add(&diff->remarks,
		               "%.80s chooses samples alone: what they are divided by (--normalize %s) is "
		               "that of all.",
		               other_label(diff, per), diff_per_name(per));
	if (per == DIFF_PER_STEP && has_amount(diff, per))
		return diff_sound_ids(diff->side, &diff->remarks, err, err_size);
	if (per == DIFF_PER_NONE || has_amount(diff, per))
		return 0;
	if (!task->per_given) {
		diff->per = DIFF_PER_NONE;
		diff_lines_add(&diff->remarks, "Nothing is normalised, as %s %s.",
		               side_names[diff->side[0].amount[per] > 0], lacks[per]);
		return 0;
	}
	snprintf(err, err_size, "%s cannot be normalised by %s, as it %s: choose another --normalize",
	         side_names[diff->side[0].amount[per] > 0], diff_per_name(per), lacks[per]);
	return -ENODATA;
}

/* --- verdicts --------------------------------------------------------------------------------------------- */

static enum diff_verdict verdict_of(const struct diff_bound *bound, double min_change)
{
	double difference = bound->value[1] - bound->value[0];

	if (!(difference > 0) && !(difference < 0))
		return DIFF_SAME;
	if (!bound->judged)
		return DIFF_UNKNOWN;
	if ((bound->low <= 0 && bound->high >= 0) || fabs(diff_percent(bound)) < min_change)
		return DIFF_NOISE;
	return difference > 0 ? DIFF_WORSE : DIFF_BETTER;
}

static void set_values(const struct diff_spreads *spreads, struct diff_row *row)
{
	diff_spreads_per(spreads, row->classes, row->per);
	for (int s = 0; s < 2; s++) {
		row->bound.side[s] = &row->points[s];
		row->bound.value[s] = row->per[s] * diff_points_sum(&row->points[s]);
	}
	row->bound.low = row->bound.high = row->bound.value[1] - row->bound.value[0];
}

/* What diff_bounds() needs of a row whose values are set. 0, -ENOMEM. */
static int take_bound(struct diff_spreads *spreads, const struct diff_row *row, struct diff_bound *bound)
{
	int64_t index = diff_spreads_index(spreads, row->classes);

	*bound = row->bound;
	bound->spread = index < 0 ? 0 : (size_t)index;
	return index < 0 ? -ENOMEM : 0;
}

/* Where nothing is normalised, values are what was recorded: a side had no more than that, and no less than nothing. */
static void keep_within_recorded(struct diff_bound *bound)
{
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < bound->side[s]->count; i++)
			if (bound->side[s]->value[i] < 0)
				return; /* differences of another program's making */
	bound->low = fmax(bound->low, -bound->value[0]);
	bound->high = fmin(bound->high, bound->value[1]);
}

static int judge_bounds(const struct diff_spreads *spreads, struct diff_bound *bounds, size_t count)
{
	const struct diff *diff = spreads->diff;
	struct diff_windows windows = { .count = { diff->side[0].count, diff->side[1].count },
		                        .pairing = diff->paired ? DIFF_PAIRED : DIFF_SEPARATE,
		                        .spreads = spreads->spread,
		                        .spread_count = spreads->count };
	int err = diff_bounds(bounds, count, &windows, diff->task->confidence / 100);

	for (size_t i = 0; i < count && !err && diff->per == DIFF_PER_NONE; i++)
		keep_within_recorded(&bounds[i]);
	return err;
}

/* --- the table -------------------------------------------------------------------------------------------- */

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

/* Sets the values of all rows, and puts those that are to be judged first. Their number. */
static size_t choose_rows(const struct diff_spreads *spreads, struct diff_table *table)
{
	size_t n = 0;

	for (size_t i = 0; i < table->count; i++) {
		table->rows[i]->part = part_of(spreads->diff, table->rows[i]);
		set_values(spreads, table->rows[i]);
	}
	if (table->count)
		qsort(table->rows, table->count, sizeof(*table->rows), compare_parts);
	while (n < table->count && n < ROWS_MAX &&
	       (table->rows[n]->wanted || table->rows[n]->part >= SMALLEST_PART))
		n++;
	return n;
}

/* Judges the rows of the table that is shown, with the total, together. */
static int judge_table(struct diff_spreads *spreads, struct diff *diff, struct diff_table *table)
{
	size_t n = choose_rows(spreads, table);
	struct diff_bound *bounds = calloc(n + 1, sizeof(*bounds));
	int err = bounds ? take_bound(spreads, &diff->total, &bounds[0]) : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++)
		err = take_bound(spreads, table->rows[i], &bounds[i + 1]);
	if (!err)
		err = judge_bounds(spreads, bounds, n + 1);
	for (size_t i = 0; i < table->count && !err; i++) {
		struct diff_row *row = table->rows[i];

		row->bound = i < n ? bounds[i + 1] : row->bound;
		row->verdict = i < n ? verdict_of(&row->bound, diff->task->min_change) : DIFF_SMALL;
	}
	if (!err) {
		diff->total.bound = bounds[0];
		diff->total.verdict = verdict_of(&bounds[0], diff->task->min_change);
		diff_table_sort(table);
	}
	free(bounds);
	return err;
}

/* --- the rules -------------------------------------------------------------------------------------------- */

/* The row that a rule names; NULL: neither side has it, or the rule is of any row. */
static struct diff_row *row_of(struct diff *diff, const struct diff_rule *rule)
{
	size_t count;

	if (rule->subject == DIFF_NAMED)
		return diff_table_match(&diff->table[rule->what], rule->name, &count);
	return rule->subject == DIFF_TOTAL ? &diff->total : NULL;
}

/* Bounds for what the rules name, which hold for all rules together, whatever table is shown. */
static int judge_named(struct diff_spreads *spreads, struct diff *diff)
{
	struct diff_bound *bounds = calloc(diff->finding_count + 1, sizeof(*bounds));
	size_t n = 0;
	int err = bounds ? 0 : -ENOMEM;

	for (size_t i = 0; i < diff->finding_count && !err; i++) {
		struct diff_finding *finding = &diff->findings[i];

		if (!finding->row)
			continue;
		set_values(spreads, finding->row);
		finding->bound = finding->row->bound;
		if (finding->rule->grows)
			err = take_bound(spreads, finding->row, &bounds[n++]);
	}
	if (!err && n)
		err = judge_bounds(spreads, bounds, n);
	for (size_t i = diff->finding_count; i-- > 0 && !err;) {
		struct diff_finding *finding = &diff->findings[i];

		if (finding->row && finding->rule->grows)
			finding->bound = bounds[--n];
		finding->verdict = verdict_of(&finding->bound, diff->task->min_change);
	}
	free(bounds);
	return err;
}

/* A finding for each rule. 0, -ENOMEM. */
static int begin_findings(struct diff *diff)
{
	diff->findings = calloc(diff->task->rule_count + 1, sizeof(*diff->findings));
	if (!diff->findings)
		return -ENOMEM;
	diff->finding_count = diff->task->rule_count;
	for (size_t i = 0; i < diff->finding_count; i++) {
		struct diff_finding *finding = &diff->findings[i];

		finding->rule = &diff->task->rules[i];
		finding->row = row_of(diff, finding->rule);
		if (finding->row)
			finding->row->wanted = true;
	}
	return 0;
}

/* Whether a rule is of all rows: then none is put aside. */
static bool looks_at_any(const struct diff *diff)
{
	for (size_t i = 0; i < diff->task->rule_count; i++)
		if (diff->task->rules[i].subject == DIFF_ANY)
			return true;
	return false;
}

int diff_judge(struct diff *diff, char *err, size_t err_size)
{
	struct diff_spreads spreads;
	int result = choose_per(diff, err, err_size);

	if (result)
		return result;
	if (diff->per == DIFF_PER_WALL && !diff->paired)
		diff_sound_steps(diff->side, &diff->remarks);
	diff_spreads_init(&spreads, diff);
	set_values(&spreads, &diff->total);
	result = begin_findings(diff);
	if (!result)
		result = judge_named(&spreads, diff);
	if (!looks_at_any(diff))
		diff_table_fold(diff_shown(diff));
	if (!result)
		result = judge_table(&spreads, diff, diff_shown(diff));
	diff_spreads_free(&spreads);
	return result;
}
