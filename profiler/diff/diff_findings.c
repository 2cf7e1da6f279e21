/* Applies the rules of --fail-on to a judged comparison. */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/diff/diff_result.h"
#include "profiler/diff/diff_cells.h"
#include "profiler/diff/diff_judge.h"

static bool exceeds(const struct diff_rule *rule, const struct diff_row *row)
{
	if (!rule->grows)
		return row->bound.value[1] > rule->limit;
	if (rule->percent)
		return diff_percent(row) > rule->limit;
	return row->bound.value[1] - row->bound.value[0] > rule->limit;
}

/* What a row that is beyond the rule's limit means. A limit of NEW alone knows no noise. */
static enum diff_outcome outcome_of(const struct diff *diff, const struct diff_rule *rule,
                                    const struct diff_row *row)
{
	if (!exceeds(rule, row))
		return DIFF_PASSED;
	if (!rule->grows || row->verdict == DIFF_WORSE)
		return DIFF_FAILED;
	if (row->verdict != DIFF_UNKNOWN)
		return DIFF_PASSED;
	return diff->task->force ? DIFF_FAILED : DIFF_UNJUDGED;
}

static void describe(const struct diff *diff, struct diff_finding *finding, const struct diff_row *row)
{
	char base[DIFF_CELL_BYTES], new[DIFF_CELL_BYTES], percent[DIFF_CELL_BYTES];

	snprintf(finding->text, sizeof(finding->text), "%.200s: %s to %s%s (%s), %s%s", row->name,
	         diff_cell_value(base, diff, row->bound.value[0]),
	         diff_cell_value(new, diff, row->bound.value[1]), diff_unit(diff),
	         diff_cell_percent(percent, row), diff_verdict_name(row->verdict),
	         finding->outcome == DIFF_UNJUDGED
	                 ? ": a side has one window, so noise is not known; record longer, or into a "
	                   "folder, or judge by the difference alone (--force)"
	                 : "");
}

/* The worst outcome of the rows that are shown. */
static void judge_any(const struct diff *diff, struct diff_finding *finding)
{
	const struct diff_table *table = &diff->table[diff->task->by];
	const struct diff_row *worst = NULL;

	for (size_t i = 0; i < table->count; i++) {
		enum diff_outcome outcome = outcome_of(diff, finding->rule, table->rows[i]);

		if (table->rows[i]->verdict == DIFF_SMALL ||
		    !(outcome == DIFF_FAILED ||
		      (outcome == DIFF_UNJUDGED && finding->outcome == DIFF_PASSED)) ||
		    (worst && finding->outcome == outcome))
			continue;
		worst = table->rows[i];
		finding->outcome = outcome;
	}
	if (worst)
		describe(diff, finding, worst);
	else
		snprintf(finding->text, sizeof(finding->text), "none of %zu rows", table->count);
}

/* A stall of which there is none: was it looked for? */
static void judge_absent(const struct diff *diff, struct diff_finding *finding)
{
	const struct diff_rule *rule = finding->rule;

	snprintf(finding->text, sizeof(finding->text), "%.200s: it is on neither side", rule->name);
	if (rule->what == TOP_BY_STALL &&
	    !diff_sound_looked_for(&diff->side[1], rule->name, finding->text, sizeof(finding->text)))
		finding->outcome = DIFF_UNJUDGED;
}

static void judge_named(const struct diff *diff, struct diff_finding *finding)
{
	const struct diff_rule *rule = finding->rule;
	const struct diff_row *row = diff_table_find(&diff->table[rule->what], rule->name);

	if (!row) {
		judge_absent(diff, finding);
		return;
	}
	finding->outcome = outcome_of(diff, rule, row);
	describe(diff, finding, row);
	if (rule->what == TOP_BY_STALL && !(row->bound.value[1] > 0) && finding->outcome == DIFF_PASSED &&
	    !diff_sound_looked_for(&diff->side[1], rule->name, finding->text, sizeof(finding->text)))
		finding->outcome = DIFF_UNJUDGED;
}

int diff_judge_rules(struct diff *diff)
{
	size_t count = diff->task->rule_count;

	diff->findings = calloc(count + 1, sizeof(*diff->findings));
	if (!diff->findings)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct diff_finding *finding = &diff->findings[i];

		finding->rule = &diff->task->rules[i];
		if (finding->rule->subject == DIFF_NAMED) {
			judge_named(diff, finding);
		} else if (finding->rule->subject == DIFF_ANY) {
			judge_any(diff, finding);
		} else {
			finding->outcome = outcome_of(diff, finding->rule, &diff->total);
			describe(diff, finding, &diff->total);
		}
	}
	diff->finding_count = count;
	return 0;
}
