/* Formats values, sides and bounds of a comparison. */

#include "profiler/diff/diff_cells.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiler/diff/diff_result.h"
#include "profiler/format/text_cells.h"

/* Above that it is said how many times as much it is. */
#define PERCENT_MAX 10000

const char *diff_cell_value(char text[DIFF_CELL_BYTES], const struct diff *diff, double value)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	size_t u = 0;

	if (strcmp(diff->unit, "nanoseconds") != 0 || !(fabs(value) > 0)) {
		snprintf(text, DIFF_CELL_BYTES, "%.4g", value);
		return text;
	}
	while (u < 3 && fabs(value) < 0.9995 * units[u].ns)
		u++;
	snprintf(text, DIFF_CELL_BYTES, "%.3g %s", value / units[u].ns, units[u].unit);
	if (fabs(value) >= 999.5e9)
		snprintf(text, DIFF_CELL_BYTES, "%.0f s", value / 1e9);
	return text;
}

const char *diff_cell_change(char text[DIFF_CELL_BYTES], const struct diff *diff, double value)
{
	char plain[DIFF_CELL_BYTES];

	snprintf(text, DIFF_CELL_BYTES, "%s%.60s", value > 0 ? "+" : "", diff_cell_value(plain, diff, value));
	return text;
}

const char *diff_cell_percent(char text[DIFF_CELL_BYTES], const struct diff_bound *bound)
{
	double percent = diff_percent(bound), times = 1 + percent / 100;

	if (isinf(percent))
		snprintf(text, DIFF_CELL_BYTES, "new");
	else if (!(bound->value[1] > 0) && percent < 0)
		snprintf(text, DIFF_CELL_BYTES, "gone");
	else if (percent > PERCENT_MAX)
		snprintf(text, DIFF_CELL_BYTES, times < 1e7 ? "x %.0f" : "x %.2g", times);
	else
		snprintf(text, DIFF_CELL_BYTES, "%+.1f %%", percent);
	return text;
}

const char *diff_cell_bounds(char text[2 * DIFF_CELL_BYTES], const struct diff *diff,
                             const struct diff_bound *bound)
{
	char low[DIFF_CELL_BYTES], high[DIFF_CELL_BYTES];

	*text = '\0';
	if (bound->judged)
		snprintf(text, 2 * DIFF_CELL_BYTES, "%.60s .. %.60s", diff_cell_change(low, diff, bound->low),
		         diff_cell_change(high, diff, bound->high));
	return text;
}

const char *diff_side_text(char text[DIFF_SIDE_BYTES], const struct diff_side *side)
{
	char duration[TEXT_DURATION_BYTES];
	size_t used = (size_t)snprintf(text, DIFF_SIDE_BYTES, "%.400s", side->place);

	used += strlen(diff_filter_text(text + used, DIFF_SIDE_BYTES - used, &side->filter));
	text_computed_duration(duration, side->amount[DIFF_PER_WALL]);
	snprintf(text + used, DIFF_SIDE_BYTES - used, ": %s in %zu %s%s%s",
	         side->amount[DIFF_PER_WALL] > 0 ? duration : "unknown time", side->count,
	         side->sliced ? "slice" : "window", side->count == 1 ? "" : "s",
	         side->sliced ? " of one file" : "");
	return text;
}

const char *diff_bounds_text(char text[DIFF_SIDE_BYTES], const struct diff *diff)
{
	size_t base = diff->side[0].count, new = diff->side[1].count;
	const char *whose =
	        diff->finding_count ? "for all rows together; rules have their own" : "for all rows together";

	if (base < 2 || new < 2)
		snprintf(text, DIFF_SIDE_BYTES, "There are no bounds, as %s one window: noise is not known.",
		         base < 2 && new < 2 ? "both sides have"
		         : base < 2          ? "BASE has"
		                             : "NEW has");
	else if (diff->paired)
		snprintf(text, DIFF_SIDE_BYTES, "Bounds of %g %% rest on %zu %s, %s.", diff->task->confidence,
		         base, diff->side[0].sliced ? "slices" : "windows", whose);
	else
		snprintf(text, DIFF_SIDE_BYTES,
		         "Bounds of %g %% rest on %zu %s of BASE and %zu %s of NEW, %s.",
		         diff->task->confidence, base, diff->side[0].sliced ? "slices" : "windows", new,
		         diff->side[1].sliced ? "slices" : "windows", whose);
	return text;
}

size_t diff_name_length(const char *name)
{
	return strcspn(name, "\n");
}

const char *diff_use_text(char text[DIFF_USE_BYTES], const struct diff_use_class *use)
{
	char median[2][TEXT_DURATION_BYTES], mean[2][TEXT_DURATION_BYTES], oncpu[2][TEXT_DURATION_BYTES],
	        runqueue[2][TEXT_DURATION_BYTES];
	char change[32] = "", mean_change[32] = "";

	for (int s = 0; s < 2; s++) {
		text_computed_duration(median[s], use->median_ns[s]);
		text_computed_duration(mean[s], use->mean_ns[s]);
		text_computed_duration(oncpu[s], use->oncpu_ns[s]);
		text_computed_duration(runqueue[s], use->runqueue_ns[s]);
	}
	if (use->median_ns[0] > 0 && use->median_ns[1] > 0)
		snprintf(change, sizeof(change), " (%+.1f %%)",
		         100 * (use->median_ns[1] / use->median_ns[0] - 1));
	if (use->mean_significant)
		snprintf(mean_change, sizeof(mean_change), " (%+.1f %%)",
		         100 * (use->mean_ns[1] / use->mean_ns[0] - 1));
	snprintf(text, DIFF_USE_BYTES,
	         "%.200s: %s to %s%s; on average %s to %s%s, of it on-CPU %s to %s, run queue %s to %s; %zu "
	         "and %zu "
	         "uses: %s",
	         use->class, median[0], median[1], change, mean[0], mean[1], mean_change, oncpu[0], oncpu[1],
	         runqueue[0], runqueue[1], use->count[0], use->count[1],
	         use->verdict == DIFF_UNKNOWN ? "too few to tell" : diff_verdict_name(use->verdict));
	return text;
}
