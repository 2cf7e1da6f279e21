/* Finds the seconds without tagged threads. */

#include "profiler/report/report_away.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/format/stamp.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report_words.h"

#define EDGE_SECONDS                                                                                         \
	2 /* in which the last of the threads' time may be told: that in which they end, and what is read in the next */
#define USUAL_SECONDS 3 /* beside those */

/* What the threads have in each place, and how many places are one of an edge's seconds. */
struct threads {
	struct report_series series;
	size_t wide;
};

/* The mean in the seconds beside the edge's, or, where there are none, the most in these. `edge`: the stretch's first place, or
 * the one behind its last, to the `right` of it. */
static double usual_beside(const struct threads *threads, size_t edge, bool right)
{
	const struct report_series *series = &threads->series;
	size_t near = EDGE_SECONDS * threads->wide, far = near + USUAL_SECONDS * threads->wide, n = 0;
	double sum = 0, most = 0;

	for (size_t i = 0; i < far && (right ? edge + i < series->n : i < edge); i++) {
		double v = series->v[right ? edge + i : edge - 1 - i];

		if (i < near) {
			most = v > most ? v : most;
		} else {
			sum += v;
			n++;
		}
	}
	return n ? sum / (double)n : most;
}

/* How much of the seconds at an edge of the stretch is a part of it, by what is missing of the usual there. */
static uint64_t missing_at(const struct threads *threads, size_t edge, bool right)
{
	const struct report_series *series = &threads->series;
	double usual = usual_beside(threads, edge, right), missing = 0;

	for (size_t i = 0; i < EDGE_SECONDS * threads->wide && (right ? edge + i < series->n : i < edge);
	     i++) {
		double v = series->v[right ? edge + i : edge - 1 - i];

		if (v < usual)
			missing += v > 0 ? 1 - v / usual : 1;
	}
	return (uint64_t)(missing * (double)series->step_ns);
}

/* The places [from, to). Before the first of them the program has just begun. */
static void add(struct report_away *away, const struct threads *threads, uint64_t last_ns, size_t from,
                size_t to)
{
	const struct report_series *series = &threads->series;
	uint64_t begin_ns = series->begin_ns + from * series->step_ns;
	uint64_t end_ns = series->begin_ns + to * series->step_ns, missing_ns;

	if (!from || end_ns - begin_ns < REPORT_AWAY_NS)
		return;
	missing_ns = missing_at(threads, from, false);
	begin_ns -= missing_ns < begin_ns - series->begin_ns ? missing_ns : begin_ns - series->begin_ns;
	end_ns += to < series->n ? missing_at(threads, to, true) : 0;
	end_ns = end_ns < last_ns ? end_ns : last_ns;
	if (end_ns - begin_ns > away->end_ns - away->begin_ns) {
		away->begin_ns = begin_ns;
		away->end_ns = end_ns;
	}
	away->ns += end_ns - begin_ns;
	away->count++;
}

static bool has_waits(const struct timeline *timeline)
{
	for (size_t i = 0; i < timeline_count(timeline); i++)
		if (timeline_lane_at(timeline, i)->kind == TIMELINE_BLOCKED)
			return true;
	return false;
}

static int find_stretches(struct report_away *away, const struct report_view *view,
                          const struct report_series *steps, const struct threads *threads, uint64_t last_ns)
{
	bool *there;
	size_t from = 0;
	int err = report_view_there(&there, view, steps);

	if (err)
		return err;
	for (size_t i = 0; i <= steps->n; i++)
		if (i == steps->n || there[i] || steps->v[i] > 0) {
			add(away, threads, last_ns, from, i);
			from = i + 1;
		}
	free(there);
	return 0;
}

int report_away_find(struct report_away *away, const struct report_view *view)
{
	struct stamp_coverage covered = stamp_coverage(view->input->stamp);
	struct threads threads = { .wide = report_view_bucket(view) / TIMELINE_LEDGER_BUCKET_NS };
	struct report_series steps;
	int err;

	*away = (struct report_away){ .blind = !has_waits(view->timeline) };
	if (!report_view_is_whole(view))
		return 0;
	if (!view->pushed || covered.last_ns - covered.first_ns >= covered.covered_ns + REPORT_AWAY_NS)
		return 0;
	err = report_view_sum(&steps, view, covered.first_ns, covered.last_ns, TIMELINE_LEDGER_BUCKET_NS,
	                      report_view_is_steps, view->steps);
	if (err)
		return err == -ENOMEM ? err : 0;
	err = report_view_sum(&threads.series, view, covered.first_ns, covered.last_ns,
	                      TIMELINE_LEDGER_BUCKET_NS, report_view_is_time, NULL);
	if (!err)
		err = find_stretches(away, view, &steps, &threads, covered.last_ns);
	report_series_free(&threads.series);
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
