/* Sums the lost time, and finds where it stands out. */

#include "profiler/report/report_incident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/report/report_early.h"
#include "profiler/report/report_faults.h"
#include "profiler/report/report_slow_steps.h"

/* A thread lost is worth a step a second: it decides where steps come equally fast. */
#define STEPS_BESIDE_LOST 1e9 /* of steps a nanosecond */

/* Steps count as equally fast from FAST_PART of the rate on that two thirds of the run with threads do not exceed (the baseline is a third). Otherwise the
 * fastest stretch of a loop with a pace of its own would be where it catches up, right after a stop. */
#define FAST_QUANTILE (2.0 / 3)
#define FAST_PART     0.9

static bool is_on_cpu(const struct report_view *view, const struct timeline_lane *lane, const void *unused)
{
	(void)unused;
	return lane->kind == TIMELINE_ONCPU && report_view_counts(view, lane->class);
}

/* Makes all rates that count as equally fast the same. `there`: where there are threads. 0 or -ENOMEM. */
static int level_fast_steps(struct report_series *steps, const bool *there)
{
	double *some = calloc(steps->n, 2 * sizeof(*some)), fast;
	int err = some ? report_series_smooth(steps, RANK_REACH) : -ENOMEM;
	size_t n = 0;

	if (!err) {
		for (size_t i = 0; i < steps->n; i++)
			if (there[i])
				some[n++] = steps->v[i];
		fast = FAST_PART * report_quantile(some, n, FAST_QUANTILE, some + steps->n);
		for (size_t i = 0; i < steps->n; i++)
			steps->v[i] = steps->v[i] < fast ? steps->v[i] : fast;
	}
	free(some);
	return err;
}

/* Of the time with threads the stretch in which steps came fastest, or, without steps, in which threads lost least and ran most: waits without a sample
 * are in no lane, but who waits does not run. `lost`: the view's lost time. */
static int find_baseline(struct report_baseline *baseline, const struct report_view *view,
                         const struct report_series *lost)
{
	struct report_series unrest;
	double counts = view->steps ? STEPS_BESIDE_LOST : 1;
	bool *there = NULL;
	int err = report_view_sum(&unrest, view, view->begin_ns, view->end_ns, RANK_WIDE_NS,
	                          view->steps ? report_view_is_steps : is_on_cpu, view->steps);

	if (err)
		return err;
	err = report_view_there(&there, view, &unrest);
	if (view->steps && !err)
		err = level_fast_steps(&unrest, there);
	for (size_t i = 0; i < unrest.n; i++)
		unrest.v[i] = lost->v[i] - counts * unrest.v[i];
	if (!err)
		err = report_baseline_find(baseline, lost, &unrest, there);
	report_series_free(&unrest);
	free(there);
	return err;
}

static int lost_time(struct report_series *lost, const struct report_view *view)
{
	int err = report_view_sum(lost, view, view->begin_ns, view->end_ns, RANK_WIDE_NS, report_view_is_lost,
	                          NULL);

	return err ? err : report_series_smooth(lost, RANK_REACH);
}

/* Of the other profile all of the time with threads counts, as who gives it calls the whole of it good: its quietest stretch is faster
 * than any run is as a whole. */
static int find_given_baseline(struct report_baseline *baseline, struct report_view *other)
{
	struct report_series lost;
	int err = report_view_cut_away(other, RANK_WIDE_NS);

	if (!err)
		err = lost_time(&lost, other);
	if (err)
		return err;
	err = report_baseline_of(baseline, &lost, 0, lost.n, REPORT_LEAST_SIGMA);
	report_series_free(&lost);
	*baseline = (struct report_baseline){ .given = true,
		                              .median = baseline->median,
		                              .sigma = baseline->sigma };
	return err;
}

static void place_incident(struct report_ranking *out, const struct report_spike *spikes, size_t count)
{
	const struct report_series *symptom = &out->symptom;

	out->spikes = count;
	out->mode = count ? REPORT_SPIKE : REPORT_STEADY;
	out->incident = (struct report_spike){ .from = 0, .to = symptom->n };
	for (size_t i = 0; i < count; i++)
		if (!i || spikes[i].excess > out->incident.excess)
			out->incident = spikes[i];
	out->begin_ns = symptom->begin_ns + out->incident.from * symptom->step_ns;
	out->end_ns = symptom->begin_ns + out->incident.to * symptom->step_ns;
	out->before = out->baseline.median;
	out->during = report_mean(symptom->v + out->incident.from, out->incident.to - out->incident.from);
	if (!out->baseline.given) {
		out->baseline_begin_ns = symptom->begin_ns + out->baseline.from * symptom->step_ns;
		out->baseline_end_ns = symptom->begin_ns + out->baseline.to * symptom->step_ns;
	}
}

/* As it was seen while it went on: from there to its end, or to the end of what there is. */
static int take_hint(struct report_ranking *out, const struct report_view *view,
                     const struct report_hint *hint)
{
	const struct report_series *symptom = &out->symptom;
	struct report_spike spike = { .to = symptom->n };
	size_t from, to;
	int err;

	if (hint->begin_ns <= symptom->begin_ns || hint->begin_ns >= view->end_ns ||
	    hint->baseline_begin_ns < symptom->begin_ns || hint->baseline_end_ns <= hint->baseline_begin_ns)
		return -EINVAL;
	spike.from = (size_t)((hint->begin_ns - symptom->begin_ns) / symptom->step_ns);
	if (hint->end_ns > hint->begin_ns && hint->end_ns < view->end_ns)
		spike.to = (size_t)((hint->end_ns - symptom->begin_ns) / symptom->step_ns);
	from = (size_t)((hint->baseline_begin_ns - symptom->begin_ns) / symptom->step_ns);
	to = (size_t)((hint->baseline_end_ns - symptom->begin_ns) / symptom->step_ns);
	if (to > symptom->n || spike.from >= spike.to)
		return -EINVAL;
	err = report_baseline_of(&out->baseline, symptom, from, to, REPORT_LEAST_SIGMA);
	if (err)
		return err;
	spike.mean = report_mean(symptom->v + spike.from, spike.to - spike.from);
	spike.excess = (spike.mean - out->baseline.median) * (double)(spike.to - spike.from) *
	               (double)symptom->step_ns;
	spike.z = (spike.mean - out->baseline.median) / out->baseline.sigma;
	place_incident(out, &spike, 1);
	out->by_steps = hint->by_steps;
	out->goes_on = !hint->end_ns;
	return 0;
}

/* Leaves the newest of them alone, or none if that is over. */
static size_t keep_recent(const struct report_ranking *out, struct report_spike *spikes, size_t count,
                          uint64_t recent_ns)
{
	const struct report_series *symptom = &out->symptom;

	if (!recent_ns || !count)
		return count;
	spikes[0] = spikes[count - 1];
	return (symptom->n - spikes[0].to) * symptom->step_ns <= recent_ns;
}

/* Without steps a program's start is the quietest part of its run. What goes on for more than half of that is no incident. */
static bool is_most_of_it(const struct report_series *symptom, const struct report_spike *spikes,
                          size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (spikes[i].to - spikes[i].from > symptom->n / 2)
			return true;
	return false;
}

static int keep_stretches(struct report_ranking *out, const struct report_spike *spikes, size_t count)
{
	if (count < 2)
		return 0;
	out->stretches = calloc(count, sizeof(*out->stretches));
	if (!out->stretches)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		out->stretches[i].spike = spikes[i];
	out->stretch_count = count;
	return 0;
}

static int find_spikes(struct report_ranking *out, const struct report_view *view, struct report_view *other,
                       uint64_t recent_ns)
{
	struct report_spike *spikes = NULL;
	size_t count = 0;
	int err = other ? find_given_baseline(&out->baseline, other)
	                : find_baseline(&out->baseline, view, &out->symptom);

	if (!err)
		err = report_spikes_find(&spikes, &count, &out->symptom, &out->baseline,
		                         report_view_covered_ns(view));
	if (err)
		return err;
	if (other)
		out->steps_before = report_slow_steps_given_rate(other, view->steps);
	if (!view->steps && !other && !recent_ns && is_most_of_it(&out->symptom, spikes, count))
		count = 0;
	place_incident(out, spikes, keep_recent(out, spikes, count, recent_ns));
	err = recent_ns ? 0 : keep_stretches(out, spikes, count);
	free(spikes);
	return err;
}

/* Where nothing stands out of a third of the run: what stands out of its begin, steps looked at. 1; 0: nothing does, and all is as it was; or
 * -ENOMEM. */
static int try_early(struct report_ranking *out, const struct report_view *view)
{
	const struct report_ranking before = *out;
	struct report_spike *spikes;
	size_t count;
	int found = report_early_find(&out->baseline, view, &out->symptom), err;

	if (found <= 0)
		return found;
	err = report_spikes_find(&spikes, &count, &out->symptom, &out->baseline,
	                         report_view_covered_ns(view));
	if (err)
		return err;
	place_incident(out, spikes, count);
	err = keep_stretches(out, spikes, count);
	free(spikes);
	if (!err)
		err = report_slow_steps_look(out, view, 0, true);
	if (err || out->mode == REPORT_SPIKE)
		return err ? err : 1;
	*out = before;
	return 0;
}

int report_incident_find(struct report_ranking *out, const struct report_view *view,
                         struct report_view *other, const struct report_hint *hint, uint64_t recent_ns)
{
	uint64_t fault_ns = hint && hint->by_fault ? hint->begin_ns : 0;
	int err = lost_time(&out->symptom, view);

	if (err)
		return err;
	err = hint && !fault_ns ? take_hint(out, view, hint) : -EINVAL;
	if (err == -EINVAL)
		err = find_spikes(out, view, other, recent_ns);
	if (!err && out->mode != REPORT_SPIKE && view->steps && !other && !recent_ns)
		err = try_early(out, view);
	if (!err)
		err = report_slow_steps_look(out, view, recent_ns, !hint && !recent_ns);
	return err < 0 ? err : report_faults_find(out, view, fault_ns, recent_ns);
}

void report_incident_drop(struct report_ranking *out)
{
	place_incident(out, NULL, 0);
	out->by_steps = false;
	out->steps_left_out = true;
	out->steps_z = 0;
	out->steps_during = out->steps_newest = -1;
	free(out->stretches);
	out->stretches = NULL;
	out->stretch_count = 0;
}

int report_incident_move(struct report_ranking *out, const struct report_view *view, size_t from, size_t to)
{
	const struct report_series *symptom = &out->symptom;
	struct report_spike *incident = &out->incident;

	*incident = (struct report_spike){ .from = from, .to = to };
	incident->mean = report_mean(symptom->v + from, to - from);
	incident->z = (incident->mean - out->baseline.median) / out->baseline.sigma;
	incident->excess =
	        (incident->mean - out->baseline.median) * (double)(to - from) * (double)symptom->step_ns;
	out->begin_ns = symptom->begin_ns + from * symptom->step_ns;
	out->end_ns = symptom->begin_ns + to * symptom->step_ns;
	out->during = incident->mean;
	return report_slow_steps_look(out, view, 0, false);
}

void report_incident_tell(struct report_ranking *out, const struct report_axis *axis)
{
	const struct report_series *symptom = &out->symptom;

	out->begin_ns = report_axis_unix(axis, out->begin_ns);
	out->end_ns = report_axis_unix(axis, out->end_ns);
	out->baseline_begin_ns = report_axis_unix(axis, out->baseline_begin_ns);
	out->baseline_end_ns = report_axis_unix(axis, out->baseline_end_ns);
	for (size_t i = 0; i < out->stretch_count; i++) {
		struct report_stretch *stretch = &out->stretches[i];

		stretch->begin_ns =
		        report_axis_unix(axis, symptom->begin_ns + stretch->spike.from * symptom->step_ns);
		stretch->end_ns =
		        report_axis_unix(axis, symptom->begin_ns + stretch->spike.to * symptom->step_ns);
	}
}
