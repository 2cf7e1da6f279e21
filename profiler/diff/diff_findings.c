/* Applies the rules of --fail-on to a judged comparison. */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/diff/diff_absent.h"
#include "profiler/diff/diff_cells.h"
#include "profiler/diff/diff_doubt.h"
#include "profiler/diff/diff_judge.h"
#include "profiler/diff/diff_result.h"

static const char *const side_names[] = { "BASE", "NEW" };

/* --- outcomes --------------------------------------------------------------------------------------------- */

/* By how much a value may grow. */
static double limit_of(const struct diff_rule *rule, const struct diff_bound *bound)
{
	return rule->percent ? rule->limit / 100 * fabs(bound->value[0]) : rule->limit;
}

static bool exceeds(const struct diff_rule *rule, const struct diff_bound *bound)
{
	if (!rule->grows)
		return bound->value[1] > rule->limit;
	return bound->value[1] - bound->value[0] > limit_of(rule, bound);
}

/* There are too few windows to judge it. */
static bool is_too_few(const struct diff *diff, const struct diff_rule *rule)
{
	return rule->grows && diff_doubt_few(diff) && !diff->task->force;
}

/* `whole`: what growths are compared with to say whether noise is large. */
static enum diff_outcome outcome_of(const struct diff *diff, const struct diff_rule *rule,
                                    const struct diff_bound *bound, enum diff_verdict verdict, double whole)
{
	bool beyond = exceeds(rule, bound), rare = diff_doubt_rare(bound) && !diff->task->force;

	if (!rule->grows)
		return beyond ? DIFF_FAILED : DIFF_PASSED;
	if (is_too_few(diff, rule))
		return DIFF_UNJUDGED;
	if (beyond && (verdict == DIFF_WORSE || verdict == DIFF_UNKNOWN))
		return rare ? DIFF_UNJUDGED : DIFF_FAILED;
	/* Of many rows some are rare: they are in doubt where they grew. */
	if (rare && rule->subject != DIFF_ANY)
		return DIFF_UNJUDGED;
	if (verdict == DIFF_NOISE && diff_doubt_wide(bound, limit_of(rule, bound), whole))
		return DIFF_UNJUDGED;
	return DIFF_PASSED;
}

/* --- words ------------------------------------------------------------------------------------------------ */

static void describe(const struct diff *diff, struct diff_finding *finding, const char *name)
{
	const struct diff_bound *bound = &finding->bound;
	char base[DIFF_CELL_BYTES], new[DIFF_CELL_BYTES], percent[DIFF_CELL_BYTES],
	        bounds[2 * DIFF_CELL_BYTES], why[512];
	int used = snprintf(finding->text, sizeof(finding->text), "%.200s: %s to %s%s (%s)", name,
	                    diff_cell_value(base, diff, bound->value[0]),
	                    diff_cell_value(new, diff, bound->value[1]), diff_unit(diff),
	                    diff_cell_percent(percent, bound));
	size_t left = sizeof(finding->text) - (size_t)used;

	if (!finding->rule->grows)
		return;
	diff_cell_bounds(bounds, diff, bound);
	used += snprintf(finding->text + used, left, ", %s%s%s", diff_verdict_name(finding->verdict),
	                 *bounds ? ", bounds " : "", bounds);
	left = sizeof(finding->text) - (size_t)used;
	if (finding->outcome == DIFF_UNJUDGED)
		snprintf(finding->text + used, left, ": %s", diff_doubt_text(why, sizeof(why), diff, bound));
}

/* --- any -------------------------------------------------------------------------------------------------- */

/* The worst outcome of the rows that are shown. Of many rows some have wide bounds: they are in doubt where that matters to the
 * whole. */
static void judge_any(struct diff *diff, struct diff_finding *finding)
{
	const struct diff_table *table = diff_shown(diff);
	const struct diff_row *worst = NULL;
	double base = diff_points_sum(&diff->total.points[0]);

	for (size_t i = 0; i < table->count; i++) {
		const struct diff_row *row = table->rows[i];
		/* A limit holds for small rows as well. */
		enum diff_outcome outcome = row->verdict == DIFF_SMALL && finding->rule->grows
		                                    ? DIFF_PASSED
		                                    : outcome_of(diff, finding->rule, &row->bound,
		                                                 row->verdict, base * row->per[0]);

		if (outcome == finding->outcome || (outcome != DIFF_FAILED && worst))
			continue;
		worst = row;
		finding->outcome = outcome;
	}
	if (!worst && is_too_few(diff, finding->rule)) {
		finding->outcome = DIFF_UNJUDGED;
		diff_doubt_text(finding->text, sizeof(finding->text), diff, &diff->total.bound);
		return;
	}
	if (!worst) {
		snprintf(finding->text, sizeof(finding->text), "none of %zu rows", table->count);
		return;
	}
	finding->bound = worst->bound;
	finding->verdict = worst->verdict;
	describe(diff, finding, worst->name);
}

/* --- a name, or total ------------------------------------------------------------------------------------- */

/* A side without the stall has 0 of it only if that is known. True: it is, of all sides that the rule looks at. */
static bool stall_is_known(const struct diff *diff, struct diff_finding *finding)
{
	const struct diff_rule *rule = finding->rule;

	for (int s = rule->grows ? 0 : 1; s < 2; s++)
		if (!(finding->bound.value[s] > 0) &&
		    !diff_absent_is_true(&diff->side[s], side_names[s], rule->what, rule->name, finding->text,
		                         sizeof(finding->text)))
			return false;
	return true;
}

/* One side alone may know a name, which then is no wrong one. */
static bool name_is_known(const struct diff *diff, struct diff_finding *finding)
{
	const struct diff_rule *rule = finding->rule;

	for (int s = 0; s < 2; s++)
		if (diff_absent_is_true(&diff->side[s], "BASE or NEW", rule->what, rule->name, finding->text,
		                        sizeof(finding->text)))
			return true;
	return false;
}

/* Puts the names that may be meant behind the question for the right one. */
static void tell_near(const struct diff *diff, struct diff_finding *finding)
{
	const struct diff_table *table = &diff->table[finding->rule->what];
	size_t used = strlen(finding->text), count;
	char near[NEAR_NAMES_BYTES];

	if (finding->rule->what == TOP_BY_STALL || finding->rule->what == TOP_BY_STACK ||
	    !*diff_table_near(near, table, finding->rule->name))
		return;
	diff_table_match(table, finding->rule->name, &count);
	if (count > 1)
		snprintf(finding->text, sizeof(finding->text), "%zu lines end in '%.200s', say which: %s",
		         count, finding->rule->name, near);
	else
		snprintf(finding->text + used, sizeof(finding->text) - used, " There is %s", near);
}

/* Neither side has it, or of lines several are so. */
static void judge_absent(const struct diff *diff, struct diff_finding *finding)
{
	const struct diff_rule *rule = finding->rule;
	bool known =
	        rule->what == TOP_BY_STALL ? stall_is_known(diff, finding) : name_is_known(diff, finding);
	char why[512];

	finding->outcome = known && !is_too_few(diff, rule) ? DIFF_PASSED : DIFF_UNJUDGED;
	if (!known) {
		tell_near(diff, finding);
		return;
	}
	snprintf(finding->text, sizeof(finding->text), "%.200s: it is on neither side%s%s", rule->name,
	         finding->outcome ? ": " : "",
	         finding->outcome ? diff_doubt_text(why, sizeof(why), diff, &diff->total.bound) : "");
}

static void judge_row(const struct diff *diff, struct diff_finding *finding)
{
	const struct diff_rule *rule = finding->rule;

	finding->outcome = outcome_of(diff, rule, &finding->bound, finding->verdict, finding->bound.value[0]);
	describe(diff, finding, finding->row->name);
	/* A function may be gone; of stalls it must be known that there are none. */
	if (rule->subject == DIFF_NAMED && rule->what == TOP_BY_STALL &&
	    (rule->grows || finding->outcome == DIFF_PASSED) && !stall_is_known(diff, finding))
		finding->outcome = DIFF_UNJUDGED;
}

/* --- uses ------------------------------------------------------------------------------------------------- */

static bool grew_too_much(const struct diff_rule *rule, const double ns[2])
{
	return ns[1] - ns[0] > (rule->percent ? rule->limit / 100 * ns[0] : rule->limit);
}

/* A growth is one of the median or of the mean, each beyond noise. */
static bool use_exceeds(const struct diff_rule *rule, const struct diff_use_class *use)
{
	if (!rule->grows)
		return use->median_ns[1] > rule->limit;
	return (use->significant && grew_too_much(rule, use->median_ns)) ||
	       (use->mean_significant && grew_too_much(rule, use->mean_ns));
}

static enum diff_outcome use_outcome(const struct diff_rule *rule, const struct diff_use_class *use)
{
	if (!use || !use->count[1] || (rule->grows && use->verdict == DIFF_UNKNOWN))
		return DIFF_UNJUDGED;
	return use_exceeds(rule, use) ? DIFF_FAILED : DIFF_PASSED;
}

static void judge_use(const struct diff *diff, struct diff_finding *finding)
{
	const struct diff_rule *rule = finding->rule;
	const struct diff_use_class *use = diff_uses_find(&diff->uses, rule->name);
	char words[DIFF_USE_BYTES];

	finding->outcome = use_outcome(rule, use);
	if (diff->paired)
		snprintf(finding->text, sizeof(finding->text),
		         "uses are compared of two recordings, not of two parts of one");
	else if (!use)
		snprintf(finding->text, sizeof(finding->text),
		         "%.200s: no tag with an id has this class on either side", rule->name);
	else if (finding->outcome == DIFF_UNJUDGED)
		snprintf(finding->text, sizeof(finding->text),
		         "%.200s: %zu uses in BASE and %zu in NEW: a growth wants %d on both sides, a limit "
		         "(use:CLASS>TIME) one in NEW",
		         rule->name, use->count[0], use->count[1], DIFF_USES_LEAST);
	else
		snprintf(finding->text, sizeof(finding->text), "%s", diff_use_text(words, use));
}

void diff_judge_rules(struct diff *diff)
{
	for (size_t i = 0; i < diff->finding_count; i++) {
		struct diff_finding *finding = &diff->findings[i];

		if (finding->rule->subject == DIFF_ANY)
			judge_any(diff, finding);
		else if (finding->rule->subject == DIFF_USE)
			judge_use(diff, finding);
		else if (finding->row)
			judge_row(diff, finding);
		else
			judge_absent(diff, finding);
	}
}
