/* Tells growths that cannot be judged, and says why. */

#include "profiler/diff/diff_doubt.h"

#include <math.h>
#include <stdio.h>

#include "profiler/diff/diff_cells.h"
#include "profiler/diff/diff_result.h"

#define BURST 0.5 /* of what a side has, in one of its windows */

bool diff_doubt_few(const struct diff *diff)
{
	return diff->side[0].count < DIFF_WINDOWS_MIN || diff->side[1].count < DIFF_WINDOWS_MIN;
}

bool diff_doubt_rare(const struct diff_bound *bound)
{
	return bound->windows[0] < DIFF_WINDOWS_MIN || bound->windows[1] < DIFF_WINDOWS_MIN;
}

bool diff_doubt_wide(const struct diff_bound *bound, double limit, double whole)
{
	double difference = bound->value[1] - bound->value[0];

	if (!bound->judged || bound->low > 0 || bound->high < 0 || !(bound->half > 0))
		return false;
	return difference > fmax(limit, DIFF_NOTABLE / 100 * whole) || bound->half > fmax(limit, whole);
}

/* The part of a side that its largest window has. *at is that window's index. */
static double largest_part(const struct diff_points *points, size_t *at)
{
	double sum = diff_points_sum(points), largest = 0;

	*at = 0;
	for (size_t i = 0; i < points->count; i++)
		if (points->value[i] > largest) {
			largest = points->value[i];
			*at = points->window[i];
		}
	return sum > 0 ? largest / sum : 0;
}

static const char *windows_of(const struct diff_side *side)
{
	return side->sliced ? "slices" : "windows";
}

static void tell_few(char *text, size_t size, const struct diff *diff)
{
	snprintf(text, size,
	         "noise is not known, as BASE has %zu %s and NEW %zu, and it takes %d of each: record "
	         "longer, or into "
	         "a folder with a shorter --window, or judge by the difference alone (--force)",
	         diff->side[0].count, diff->side[0].count == 1 ? "window" : windows_of(&diff->side[0]),
	         diff->side[1].count, DIFF_WINDOWS_MIN);
}

static void tell_rare(char *text, size_t size, const struct diff *diff, const struct diff_bound *bound)
{
	snprintf(text, size,
	         "noise is not known, as BASE has what it is divided by in %zu of its %zu %s and NEW in "
	         "%zu of %zu, and it takes %d of each: record longer, or judge by the difference alone "
	         "(--force)",
	         bound->windows[0], diff->side[0].count, windows_of(&diff->side[0]), bound->windows[1],
	         diff->side[1].count, DIFF_WINDOWS_MIN);
}

const char *diff_doubt_text(char *text, size_t size, const struct diff *diff, const struct diff_bound *bound)
{
	static const char *const names[] = { "BASE", "NEW" };
	double part[2];
	size_t at[2];
	int s;

	if (diff_doubt_few(diff)) {
		tell_few(text, size, diff);
		return text;
	}
	if (diff_doubt_rare(bound)) {
		tell_rare(text, size, diff, bound);
		return text;
	}
	for (s = 0; s < 2; s++)
		part[s] = largest_part(bound->side[s], &at[s]);
	s = part[1] >= part[0];
	if (part[s] >= BURST)
		snprintf(text, size,
		         "%.0f %% of what %s has came in one of its %zu %s (number %zu): the recordings "
		         "differ, but "
		         "whether the builds do cannot be told from that; record longer, or more runs into "
		         "one "
		         "folder",
		         100 * part[s], names[s], diff->side[s].count, windows_of(&diff->side[s]), at[s] + 1);
	else
		snprintf(text, size,
		         "%s differ so much that this may be noise: record longer, or more runs into one "
		         "folder",
		         windows_of(&diff->side[s]));
	return text;
}

static bool any_changed(const struct diff *diff)
{
	const struct diff_table *table = &diff->table[diff->task->by];

	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i]->verdict >= DIFF_BETTER)
			return true;
	return false;
}

const char *diff_doubt_total(char text[DIFF_DOUBT_BYTES], const struct diff *diff)
{
	const struct diff_bound *bound = &diff->total.bound;
	char percent[DIFF_CELL_BYTES], why[512];

	*text = '\0';
	if (!any_changed(diff) && diff_doubt_wide(bound, 0, bound->value[0]))
		snprintf(text, DIFF_DOUBT_BYTES, "What differs cannot be told from noise (total %s): %s.",
		         diff_cell_percent(percent, bound), diff_doubt_text(why, sizeof(why), diff, bound));
	return text;
}
