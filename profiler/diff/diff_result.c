/* What a comparison comes to: its status, its unit, its percentages. */

#include "profiler/diff/diff_result.h"

#include <math.h>

int diff_status(const struct diff *diff)
{
	int status = diff->refused ? 2 : 0;

	for (size_t i = 0; i < diff->finding_count; i++) {
		if (diff->findings[i].outcome == DIFF_FAILED)
			return 1;
		if (diff->findings[i].outcome == DIFF_UNJUDGED)
			status = 2;
	}
	return status;
}

struct diff_table *diff_shown(struct diff *diff)
{
	return &diff->table[diff->task->by];
}

const char *diff_unit(const struct diff *diff)
{
	static const char *const units[DIFF_PERS] = {
		[DIFF_PER_WALL] = " per s of wall time",   [DIFF_PER_TAG] = " per s of its tags' time",
		[DIFF_PER_STEP] = " per step of its tags", [DIFF_PER_IO] = " per request of its tags",
		[DIFF_PER_BYTES] = " per MiB of its tags", [DIFF_PER_NONE] = "",
	};

	return units[diff->per];
}

#define ALIKE 1e-9 /* sums of the same in another order */

static bool is_divided_alike(const struct diff_row *row, const struct diff_row *total)
{
	for (int s = 0; s < 2; s++)
		if (fabs(row->per[s] - total->per[s]) > ALIKE * total->per[s])
			return false;
	return true;
}

const char *diff_rows_text(const struct diff *diff)
{
	static const char *const texts[DIFF_PERS] = {
		[DIFF_PER_WALL] = "",
		[DIFF_PER_TAG] =
		        "Each row is divided by its own tags' time: rows do not add up to the total.",
		[DIFF_PER_STEP] =
		        "Each row is divided by the steps of its own tags, of the class that has most, or by "
		        "the loop's where one of them has none: rows do not add up to the total.",
		[DIFF_PER_IO] =
		        "Each row is divided by its own tags' requests: rows do not add up to the total.",
		[DIFF_PER_BYTES] =
		        "Each row is divided by its own tags' bytes: rows do not add up to the total.",
		[DIFF_PER_NONE] = "",
	};
	const struct diff_table *table = &diff->table[diff->task->by];

	for (size_t i = 0; i < table->count; i++)
		if (!is_divided_alike(table->rows[i], &diff->total))
			return texts[diff->per];
	return "";
}

double diff_percent(const struct diff_bound *bound)
{
	double base = bound->value[0], difference = bound->value[1] - base;

	if (base > 0 || base < 0)
		return 100 * difference / fabs(base);
	return difference > 0 ? INFINITY : difference < 0 ? -INFINITY : 0;
}
