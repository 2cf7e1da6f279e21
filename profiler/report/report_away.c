/* Finds the seconds without tagged threads. */

#include "profiler/report/report_away.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/format/stamp.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report_words.h"

/* Before the first of them the program has just begun. */
static void add(struct report_away *away, const struct report_series *steps, size_t from, size_t to)
{
	uint64_t ns = (to - from) * steps->step_ns;

	if (!from || ns < REPORT_AWAY_NS)
		return;
	if (ns > away->end_ns - away->begin_ns) {
		away->begin_ns = steps->begin_ns + from * steps->step_ns;
		away->end_ns = away->begin_ns + ns;
	}
	away->ns += ns;
	away->count++;
}

static bool has_waits(const struct timeline *timeline)
{
	for (size_t i = 0; i < timeline_count(timeline); i++)
		if (timeline_lane_at(timeline, i)->kind == TIMELINE_BLOCKED)
			return true;
	return false;
}

int report_away_find(struct report_away *away, const struct report_view *view)
{
	struct stamp_coverage covered = stamp_coverage(view->input->stamp);
	struct report_series steps;
	bool *there;
	size_t from = 0;
	int err;

	*away = (struct report_away){ .blind = !has_waits(view->timeline) };
	if (!view->pushed || covered.last_ns - covered.first_ns >= covered.covered_ns + REPORT_AWAY_NS)
		return 0;
	err = report_view_sum(&steps, view, covered.first_ns, covered.last_ns, TIMELINE_LEDGER_BUCKET_NS,
	                      report_view_is_steps, view->steps);
	if (err)
		return err == -ENOMEM ? err : 0;
	err = report_view_there(&there, view, &steps);
	for (size_t i = 0; i <= steps.n && !err; i++)
		if (i == steps.n || there[i] || steps.v[i] > 0) {
			add(away, &steps, from, i);
			from = i + 1;
		}
	if (!err)
		free(there);
	report_series_free(&steps);
	return err;
}

void report_away_text(FILE *out, const struct report_away *away)
{
	char time[TEXT_DURATION_BYTES], from[48], to[48];

	fprintf(out, "For %s (", text_short_duration(time, away->ns));
	if (away->count > 1)
		fprintf(out, "%zu stretches, the longest ", away->count);
	fprintf(out, "from %s to %s) hardly a tagged thread ran, %s or began a step: ",
	        report_moment_text(from, away->begin_ns), report_moment_text(to, away->end_ns),
	        away->blind ? "stalled" : "waited long");
	fprintf(out, "the program had ended, did what has no tag, or waited %s. This time is not judged",
	        away->blind ? "for what is no stall, which was not recorded"
	                    : "too briefly at a time to be sampled");
}
