/* Chooses the lanes of lost time, and the part of the run that has tagged threads. */

#include "profiler/report/report_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/format/stamp.h"
#include "profiler/loaded/loaded_classes.h"
#include "profiler/loaded/loaded_profiles.h"

#define ACTIVE_PART 0.25 /* of the usual number of threads */

/* --- classes ------------------------------------------------------------------------------------------------ */

static bool is_listed(const struct report_view *view, const char *class)
{
	for (size_t i = 0; i < view->n_classes; i++)
		if (!strcmp(view->classes[i], class))
			return true;
	return false;
}

static void drop(struct report_view *view, const char *class)
{
	size_t n = 0;

	for (size_t i = 0; i < view->n_classes; i++)
		if (strcmp(view->classes[i], class) != 0)
			view->classes[n++] = view->classes[i];
	view->n_classes = n;
}

/* Classes of which some tags are pushed count, even if some are not. */
static int list_classes(struct report_view *view)
{
	size_t count = ledger_count(view->input->ledger);
	const struct ledger_row *row;

	for (size_t i = 0; i < count; i++) {
		row = ledger_at(view->input->ledger, i);
		view->pushed |= row && !row->base;
	}
	view->classes = calloc(TIMELINE_LANES_MAX + 1, sizeof(*view->classes));
	if (!view->classes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		row = ledger_at(view->input->ledger, i);
		if (row->base && !is_listed(view, row->class) && view->n_classes < TIMELINE_LANES_MAX)
			view->classes[view->n_classes++] = row->class;
	}
	for (size_t i = 0; i < count && view->n_classes; i++) {
		row = ledger_at(view->input->ledger, i);
		if (!row->base)
			drop(view, row->class);
	}
	return 0;
}

bool report_view_counts(const struct report_view *view, const char *class)
{
	return !view->pushed || !is_listed(view, class);
}

bool report_view_is_untold(const struct report_untold *untold, const struct timeline_lane *lane)
{
	enum timeline_kind kind = lane->kind == TIMELINE_SPIN ? TIMELINE_STALL : lane->kind;

	for (size_t i = 0; untold && i < untold->n; i++)
		if (untold->cause[i].kind == kind && !strcmp(untold->cause[i].name, lane->name))
			return true;
	return false;
}

/* Also what is not compared. */
static bool is_lost_at_all(const struct report_view *view, const struct timeline_lane *lane)
{
	if (lane->kind == TIMELINE_BLOCKED)
		return view->pushed && report_view_counts(view, lane->class) &&
		       !report_loop_idles(&view->loop, lane->class);
	return (lane->kind == TIMELINE_STALL || lane->kind == TIMELINE_RUNQUEUE ||
	        (lane->kind == TIMELINE_SPIN && !view->without_spins)) &&
	       report_view_counts(view, lane->class);
}

bool report_view_is_lost(const struct report_view *view, const struct timeline_lane *lane, const void *unused)
{
	(void)unused;
	return is_lost_at_all(view, lane) && !report_view_is_untold(view->untold, lane);
}

bool report_view_is_time(const struct report_view *view, const struct timeline_lane *lane, const void *unused)
{
	(void)unused;
	return (lane->kind != TIMELINE_SPIN && is_lost_at_all(view, lane)) ||
	       (lane->kind == TIMELINE_ONCPU && report_view_counts(view, lane->class));
}

int report_view_sum(struct report_series *series, const struct report_view *view, uint64_t begin_ns,
                    uint64_t end_ns, uint64_t step_ns, report_wants_fn wants, const void *ctx)
{
	int err = report_series_new(series, begin_ns, end_ns, step_ns);

	for (size_t i = 0; i < timeline_count(view->timeline) && !err; i++)
		if (wants(view, timeline_lane_at(view->timeline, i), ctx))
			report_series_add(series, &view->axis, view->timeline, i);
	return err;
}

/* --- the part of the run with tagged threads ---------------------------------------------------------------- */

static void span_of_lanes(struct report_view *view)
{
	view->begin_ns = UINT64_MAX;
	view->end_ns = 0;
	for (size_t i = 0; i < timeline_count(view->timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(view->timeline, i);
		size_t count;
		const struct timeline_point *points = timeline_points(view->timeline, i, &count);

		if (!count || !report_view_is_time(view, lane, NULL))
			continue;
		if (points[0].begin_ns < view->begin_ns)
			view->begin_ns = points[0].begin_ns;
		if (points[count - 1].begin_ns + lane->bucket_ns > view->end_ns)
			view->end_ns = points[count - 1].begin_ns + lane->bucket_ns;
	}
	view->begin_ns = report_axis_at(&view->axis, view->begin_ns);
	view->end_ns = report_axis_at(&view->axis, view->end_ns);
}

/* What lies between profiles is no time, so that it makes no series coarse. Where all was recorded, what has no threads is looked at
 * (report_away.h). */
static int cut_pauses(struct report_view *view)
{
	struct stamp_coverage covered = stamp_coverage(view->input->stamp);

	if (covered.last_ns - covered.first_ns < covered.covered_ns + REPORT_AWAY_NS)
		return 0;
	return report_axis_cut_gaps(&view->axis, view->timeline, REPORT_AWAY_NS, report_view_bucket(view));
}

/* Below *least threads nobody is there: a quarter of what is usual while there are any, as there may be more time without. 0 or -ENOMEM. */
static int least_threads(const struct report_series *threads, double *least)
{
	double *some = calloc(threads->n, 2 * sizeof(*some));
	size_t n = 0;

	if (!some)
		return -ENOMEM;
	for (size_t i = 0; i < threads->n; i++)
		if (threads->v[i] > 0)
			some[n++] = threads->v[i];
	*least = ACTIVE_PART * report_median(some, n, some + threads->n);
	free(some);
	return 0;
}

/* Leaves out what is before the first and after the last second with a quarter as many tagged threads as usual, as a quiet
 * stretch without any is no baseline. */
static int trim(struct report_view *view)
{
	struct report_series seconds;
	double usual;
	size_t from = 0, to;
	int err = report_view_sum(&seconds, view, view->begin_ns, view->end_ns, TIMELINE_LEDGER_BUCKET_NS,
	                          report_view_is_time, NULL);

	if (err)
		return err;
	err = least_threads(&seconds, &usual);
	if (err) {
		report_series_free(&seconds);
		return err;
	}
	to = seconds.n;
	while (from + 1 < to && seconds.v[from] < usual)
		from++;
	while (to > from + 1 && seconds.v[to - 1] < usual)
		to--;
	view->end_ns = seconds.begin_ns + to * seconds.step_ns;
	view->begin_ns = seconds.begin_ns + from * seconds.step_ns;
	report_series_free(&seconds);
	return 0;
}

int report_view_there(bool **there, const struct report_view *view, const struct report_series *series)
{
	uint64_t end_ns = series->begin_ns + series->n * series->step_ns;
	struct report_series threads;
	size_t away = 0;
	double least;
	int err = report_view_sum(&threads, view, series->begin_ns, end_ns, series->step_ns,
	                          report_view_is_time, NULL);

	if (err)
		return err;
	*there = calloc(threads.n, sizeof(**there));
	err = *there ? least_threads(&threads, &least) : -ENOMEM;
	for (size_t i = 0; i < threads.n && !err; i++) {
		(*there)[i] = threads.v[i] >= least;
		away = (*there)[i] ? 0 : away + 1;
		/* As long as it is short, it is a pause. */
		if (away * threads.step_ns < REPORT_AWAY_NS)
			(*there)[i] = true;
		else if (away > 1 && (*there)[i - 1])
			memset(*there + i + 1 - away, 0, away);
	}
	if (err) {
		free(*there);
		*there = NULL;
	}
	report_series_free(&threads);
	return err;
}

/* From the last to the first, so that the axis is as it was before each. */
static int cut_all(struct report_view *view, const struct report_series *places, const bool *there)
{
	size_t to = places->n, from;
	int err = 0;

	for (; to && !err; to = from) {
		from = to - 1;
		if (there[from])
			continue;
		while (from && !there[from - 1])
			from--;
		err = report_axis_cut(
		        &view->axis, report_axis_unix(&view->axis, places->begin_ns + from * places->step_ns),
		        report_axis_unix(&view->axis, places->begin_ns + to * places->step_ns));
	}
	return err;
}

int report_view_cut_away(struct report_view *view, uint64_t step_ns)
{
	uint64_t begin_ns = report_axis_unix(&view->axis, view->begin_ns),
	         end_ns = report_axis_unix(&view->axis, view->end_ns);
	struct report_series places;
	bool *there;
	int err = report_series_new(&places, view->begin_ns, view->end_ns, step_ns);

	if (err)
		return err;
	err = report_view_there(&there, view, &places);
	if (!err) {
		err = cut_all(view, &places, there);
		free(there);
	}
	report_series_free(&places);
	view->begin_ns = report_axis_at(&view->axis, begin_ns);
	view->end_ns = report_axis_at(&view->axis, end_ns);
	return err;
}

bool report_view_is_steps(const struct report_view *view, const struct timeline_lane *lane, const void *class)
{
	(void)view;
	return lane->kind == TIMELINE_STEPS && class && !strcmp(lane->class, class);
}

static int64_t sum_of(const struct timeline *timeline, size_t lane)
{
	size_t count;
	const struct timeline_point *points = timeline_points(timeline, lane, &count);
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum = saturating_add(sum, points[i].value);
	return sum;
}

static const char *choose_steps(const struct report_view *view)
{
	const char *best = NULL;
	int best_named = 0;
	int64_t most = 1;

	for (size_t i = 0; i < timeline_count(view->timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(view->timeline, i);
		int64_t steps = lane->kind == TIMELINE_STEPS && report_view_counts(view, lane->class)
		                        ? sum_of(view->timeline, i)
		                        : 0;
		int named = report_loop_named_step(lane->class);

		if (steps > 1 && (named > best_named || (named == best_named && steps > most))) {
			best = lane->class;
			best_named = named;
			most = steps;
		}
	}
	return best;
}

/* Without ids the steps alone would be the loop. */
static int find_loop(struct report_view *view)
{
	static const struct loaded_filter all;
	const struct loaded_class *steps;
	struct loaded_classes classes;
	int err;

	if (!view->steps)
		return 0;
	err = loaded_classes_build(&classes, view->input, &all, LOADED_LEVEL_CLASS);
	if (err)
		return err;
	steps = loaded_classes_find(&classes, view->steps);
	if (steps && !steps->base && steps->tags > 1)
		err = report_loop_find(&view->loop, view->input, &classes, steps);
	loaded_classes_free(&classes);
	return err;
}

uint64_t report_view_bucket(const struct report_view *view)
{
	uint64_t widest = TIMELINE_LEDGER_BUCKET_NS;

	for (size_t i = 0; i < timeline_count(view->timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(view->timeline, i);

		if ((lane->kind == TIMELINE_ONCPU || lane->kind == TIMELINE_STEPS) &&
		    lane->bucket_ns > widest)
			widest = lane->bucket_ns;
	}
	return widest;
}

/*
 * The ledger's seconds begin before what is covered, and end behind it. Those of long recordings are wider, and their values are taken as
 * spread over all of them: at the ends, where they are covered in part, steps would seem to come more slowly. So those are left out.
 */
static void leave_edges_out(struct report_view *view)
{
	struct stamp_coverage covered = stamp_coverage(view->input->stamp);
	uint64_t bucket = report_view_bucket(view), begin = view->begin_ns, end = view->end_ns;
	uint64_t first_ns = report_axis_at(&view->axis, covered.first_ns),
	         last_ns = report_axis_at(&view->axis, covered.last_ns);
	bool wide = bucket > TIMELINE_LEDGER_BUCKET_NS;

	if (first_ns > begin && first_ns - begin < bucket)
		begin = wide ? (begin / bucket + 1) * bucket : first_ns;
	if (last_ns < end && end - last_ns < bucket)
		end = wide ? (end - 1) / bucket * bucket : last_ns;
	if (begin < end) {
		view->begin_ns = begin;
		view->end_ns = end;
	}
}

int report_view_open(struct report_view *view, const struct loaded_profiles *input, const char *steps)
{
	int err;

	*view = (struct report_view){ .input = input, .timeline = input->timeline };
	if (!view->timeline)
		return -ENODATA;
	err = list_classes(view);
	if (err)
		return err;
	view->steps = steps ? steps : choose_steps(view);
	err = find_loop(view);
	if (!err)
		err = cut_pauses(view);
	if (!err)
		span_of_lanes(view);
	if (!err)
		err = view->begin_ns < view->end_ns ? trim(view) : -ENODATA;
	if (!err)
		err = report_spins_sum(&view->spins, input);
	if (err) {
		report_view_close(view);
		return err;
	}
	leave_edges_out(view);
	return 0;
}

bool report_view_is_whole(const struct report_view *view)
{
	return !timeline_refused(view->timeline) && !stamp_counter(view->input->stamp, "timeline_refused");
}

double report_view_covered_ns(const struct report_view *view)
{
	struct stamp_coverage covered = stamp_coverage(view->input->stamp);
	double span_ns = (double)(view->end_ns - view->begin_ns);

	return covered.windows && (double)covered.covered_ns < span_ns ? (double)covered.covered_ns : span_ns;
}

void report_view_close(struct report_view *view)
{
	free(view->classes);
	report_loop_free(&view->loop);
	report_spins_free(&view->spins);
	report_axis_free(&view->axis);
	*view = (struct report_view){ .classes = NULL };
}
