/* Sums the lost time, and finds where it stands out. */

#include "profiler/report/report_incident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/report/report_faults.h"

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

/* Of the other profile its quietest stretch counts, too. */
static int find_given_baseline(struct report_baseline *baseline, struct report_view *other)
{
	struct report_series lost;
	int err = lost_time(&lost, other);

	if (err)
		return err;
	err = find_baseline(baseline, other, &lost);
	other->begin_ns = lost.begin_ns + baseline->from * lost.step_ns;
	other->end_ns = lost.begin_ns + baseline->to * lost.step_ns;
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

/* --- steps -------------------------------------------------------------------------------------------------- */

#define SECOND_NS    TIMELINE_LEDGER_BUCKET_NS
#define STEPS_SLOWER 0.2  /* of the usual rate */
#define STEPS_SIGMA  0.05 /* the least, */
#define STEPS_VARY   0.1  /* and the most that a sigma is of the usual rate: a long incident is no spread */
#define STEPS_LEAST  2    /* seconds */
#define STEPS_MISSED 3    /* fewer than usual in all of them: where there are few, seconds differ by chance */
#define STEPS_NEWEST 2    /* seconds */
#define STEPS_THERE                                                                                          \
	0.25 /* of the usual time of the class's threads, below which they have not begun or have ended */

/* Steps, and the time of the threads that make them, by seconds. Seconds without the threads say nothing of how fast steps come. */
struct steps {
	struct report_series count, threads;
	double least; /* of the threads' time, for them to be there */
	size_t open;  /* from here on they may be there, in waits that show when they end */
};

static bool is_of_class(const struct report_view *view, const struct timeline_lane *lane, const void *class)
{
	return !strcmp(lane->class, class) &&
	       (lane->kind == TIMELINE_ONCPU || report_view_is_lost(view, lane, NULL));
}

static bool are_there(const struct steps *steps, size_t second)
{
	return second >= steps->open || second >= steps->threads.n ||
	       steps->threads.v[second] >= steps->least;
}

/* Mean number of steps a second in the seconds with threads of which at least such a part lies in [begin_ns, end_ns), by that part;
 * negative: there are none. */
static double rate_in(const struct steps *steps, uint64_t begin_ns, uint64_t end_ns, double least)
{
	const struct report_series *count = &steps->count;
	double sum = 0, parts = 0;

	for (size_t i = 0; i < count->n; i++) {
		uint64_t from_ns = count->begin_ns + i * count->step_ns, to_ns = from_ns + count->step_ns;
		double part;

		from_ns = from_ns > begin_ns ? from_ns : begin_ns;
		to_ns = to_ns < end_ns ? to_ns : end_ns;
		part = to_ns > from_ns ? (double)(to_ns - from_ns) / (double)count->step_ns : 0;
		if (part > 0 && part >= least && are_there(steps, i)) {
			sum += part * count->v[i] * 1e9;
			parts += part;
		}
	}
	return parts > 0 ? sum / parts : -1;
}

/* By whole seconds, as the others are partly of another time; a short stretch may have none. */
static double rate_of(const struct steps *steps, uint64_t begin_ns, uint64_t end_ns)
{
	double rate = rate_in(steps, begin_ns, end_ns, 1);

	return rate < 0 ? rate_in(steps, begin_ns, end_ns, 0) : rate;
}

/* The mean in the baseline, or of all where another profile is the baseline. */
static double usual_of(const struct report_series *series, const struct report_ranking *out)
{
	size_t from = 0, to = series->n;

	if (out->baseline_end_ns > out->baseline_begin_ns && out->baseline_begin_ns >= series->begin_ns) {
		from = (size_t)((out->baseline_begin_ns - series->begin_ns) / series->step_ns);
		to = (size_t)((out->baseline_end_ns - 1 - series->begin_ns) / series->step_ns) + 1;
		to = to < series->n ? to : series->n;
	}
	return from < to ? report_mean(series->v + from, to - from) : 0;
}

/* `live`: the newest seconds may lack waits that go on. Only after 0 is there something to free. */
static int sum_steps(struct steps *steps, const struct report_view *view, const struct report_ranking *out,
                     bool live)
{
	const struct report_series *threads = &steps->threads;
	int err;

	*steps = (struct steps){ .open = SIZE_MAX };
	err = report_view_sum(&steps->count, view, view->begin_ns, view->end_ns, SECOND_NS,
	                      report_view_is_steps, view->steps);
	if (err)
		return err;
	err = report_view_sum(&steps->threads, view, view->begin_ns, view->end_ns, SECOND_NS, is_of_class,
	                      view->steps);
	if (err) {
		report_series_free(&steps->count);
		return err;
	}
	steps->least = STEPS_THERE * usual_of(threads, out);
	for (steps->open = threads->n; steps->open > 0; steps->open--)
		if (threads->v[steps->open - 1] >= steps->least)
			break;
	steps->open = live ? steps->open : SIZE_MAX;
	return 0;
}

static void free_steps(struct steps *steps)
{
	report_series_free(&steps->count);
	report_series_free(&steps->threads);
}

/* The longest stretch of slow seconds, or the newest; the first and the last second of the run may be no whole ones. */
static void find_slow_steps(struct report_ranking *out, const struct steps *steps, double usual, double sigma,
                            bool newest)
{
	const struct report_series *count = &steps->count;
	double second = (double)count->step_ns / 1e9, missed = 0;
	size_t from = 0, best = 0;

	for (size_t i = 1; i < count->n; i++) {
		double slower = usual - count->v[i] * 1e9;

		if (slower < SPIKE_SIGMAS * sigma || slower < STEPS_SLOWER * usual || !are_there(steps, i)) {
			from = 0;
			continue;
		}
		missed = (from ? missed : 0) + slower * second;
		from = from ? from : i;
		if (i + 1 - from < STEPS_LEAST || missed < STEPS_MISSED || (!newest && i + 1 - from <= best))
			continue;
		best = i + 1 - from;
		out->by_steps = true;
		out->begin_ns = count->begin_ns + from * count->step_ns;
		out->end_ns = count->begin_ns + (i + 1) * count->step_ns;
		out->steps_z = (usual - report_mean(count->v + from, best) * 1e9) / sigma;
	}
}

/* Where the symptom has those seconds. */
static void place_slow_steps(struct report_ranking *out)
{
	const struct report_series *symptom = &out->symptom;
	uint64_t from_ns = out->begin_ns > symptom->begin_ns ? out->begin_ns - symptom->begin_ns : 0;
	uint64_t to_ns = out->end_ns > symptom->begin_ns ? out->end_ns - symptom->begin_ns : 0;
	struct report_spike *incident = &out->incident;

	incident->from = (size_t)(from_ns / symptom->step_ns);
	incident->to = (size_t)(to_ns / symptom->step_ns);
	incident->to = incident->to > symptom->n ? symptom->n : incident->to;
	out->mode = REPORT_SPIKE;
	out->spikes = 1;
	out->during = incident->mean =
	        report_mean(symptom->v + incident->from, incident->to - incident->from);
	incident->excess = (out->during - out->before) * (double)(incident->to - incident->from) *
	                   (double)symptom->step_ns;
	incident->z = (out->during - out->before) / out->baseline.sigma;
}

/* How fast they came in another profile's quiet stretch; negative: not known. */
static double given_rate(const struct report_view *other, const char *class)
{
	const struct report_ranking all = { .mode = REPORT_NOTHING };
	struct report_view of_class = *other;
	struct steps steps;
	double rate;

	of_class.steps = class;
	if (!class || sum_steps(&steps, &of_class, &all, false))
		return -1;
	rate = rate_of(&steps, other->begin_ns, other->end_ns);
	free_steps(&steps);
	return rate > 0 ? rate : -1;
}

/* Where no more time is lost than usual, steps may still come more slowly. */
static int look_at_steps(struct report_ranking *out, const struct report_view *view, uint64_t recent_ns)
{
	struct steps steps;
	struct report_baseline all;
	double sigma;
	int err;

	out->steps = view->steps;
	out->steps_during = out->steps_newest = -1;
	if (!out->baseline.given)
		out->steps_before = -1;
	if (!view->steps)
		return 0;
	err = sum_steps(&steps, view, out, recent_ns != 0);
	if (err)
		return err;
	err = report_baseline_of(&all, &steps.count, 0, steps.count.n, 0);
	if (!err && !out->baseline.given)
		out->steps_before = rate_of(&steps, out->baseline_begin_ns, out->baseline_end_ns);
	if (!err && out->mode != REPORT_SPIKE && out->steps_before > 0) {
		sigma = all.sigma * 1e9 < STEPS_VARY * out->steps_before ? all.sigma * 1e9
		                                                         : STEPS_VARY * out->steps_before;
		if (steps.count.begin_ns + steps.count.n * steps.count.step_ns > view->end_ns &&
		    steps.count.n > 1)
			steps.count.n--;
		find_slow_steps(out, &steps, out->steps_before,
		                report_sigma_floor(sigma, 0, STEPS_SIGMA * out->steps_before),
		                recent_ns != 0);
		out->by_steps &= !recent_ns || out->end_ns + recent_ns >= view->end_ns;
		if (out->by_steps)
			place_slow_steps(out);
	}
	out->steps_during = rate_of(&steps, out->begin_ns, out->end_ns);
	out->steps_newest = rate_of(&steps, out->end_ns - STEPS_NEWEST * SECOND_NS, out->end_ns);
	free_steps(&steps);
	return err;
}

/* --- all of it ---------------------------------------------------------------------------------------------- */

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
		err = report_spikes_find(&spikes, &count, &out->symptom, &out->baseline);
	if (err)
		return err;
	if (other)
		out->steps_before = given_rate(other, view->steps);
	if (!view->steps && !other && !recent_ns && is_most_of_it(&out->symptom, spikes, count))
		count = 0;
	place_incident(out, spikes, keep_recent(out, spikes, count, recent_ns));
	err = recent_ns ? 0 : keep_stretches(out, spikes, count);
	free(spikes);
	return err;
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
	if (!err)
		err = look_at_steps(out, view, recent_ns);
	return err ? err : report_faults_find(out, view, fault_ns, recent_ns);
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
	return look_at_steps(out, view, 0);
}
