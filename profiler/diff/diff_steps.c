/* Counts steps, by the timeline and the ledger. */

#include "profiler/diff/diff_steps.h"

#include <stdbool.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"

/* Exact tags of a class in the ledger. */
struct tag_count {
	double all, passing;
};

static bool is_same_tag(const struct ledger_row *a, const struct ledger_row *b)
{
	return a && a->id == b->id && !strcmp(a->tag, b->tag);
}

/* Rows of a tag come one after the other; it passes if any of them does. 0, -ENOMEM. */
static int count_tags(struct tag_count *count, struct diff_classes *classes, const struct diff_filter *filter,
                      struct ledger *ledger)
{
	const struct ledger_row *last = NULL;
	bool passed = false;

	for (size_t i = 0; i < ledger_count(ledger); i++) {
		const struct ledger_row *row = ledger_at(ledger, i);
		bool passes;
		int class;

		if (!row || row->base || row->folded)
			continue;
		class = diff_classes_number(classes, row->class);
		if (class < 0)
			return class;
		passes = diff_filter_row(filter, row);
		if (!is_same_tag(last, row)) {
			count[class].all++;
			passed = false;
		}
		if (passes && !passed)
			count[class].passing++;
		passed |= passes;
		last = row;
	}
	return 0;
}

static double lane_sum(const struct timeline *timeline, size_t lane)
{
	size_t count;
	const struct timeline_point *points = timeline_points(timeline, lane, &count);
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)points[i].value;
	return sum;
}

int diff_steps_count(double count[DIFF_CLASSES_MAX], struct diff_classes *classes,
                     const struct diff_filter *filter, const struct loaded_profiles *input)
{
	struct tag_count tags[DIFF_CLASSES_MAX] = { { 0 } };
	int err = count_tags(tags, classes, filter, input->ledger);

	for (size_t i = 0; i < timeline_count(input->timeline) && !err; i++) {
		const struct timeline_lane *lane = timeline_lane_at(input->timeline, i);
		int class;

		if (lane->kind != TIMELINE_STEPS)
			continue;
		class = diff_classes_number(classes, lane->class);
		if (class < 0)
			return class;
		if (tags[class].all > 0)
			count[class] += lane_sum(input->timeline, i) * tags[class].passing / tags[class].all;
	}
	return err;
}
