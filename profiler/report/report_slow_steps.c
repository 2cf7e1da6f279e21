/* Counts the steps by seconds, and finds the slow ones. */

#include "profiler/report/report_slow_steps.h"

#include <string.h>

#define SECOND_NS    TIMELINE_LEDGER_BUCKET_NS
#define STEPS_SLOWER 0.2  /* of the usual rate */
#define STEPS_SIGMA  0.05 /* the least, */
#define STEPS_VARY   0.1  /* and the most that a sigma is of the usual rate: a long incident is no spread */
#define STEPS_LEAST  2    /* seconds */
#define STEPS_MISSED 3    /* fewer than usual in all of them: where there are few, seconds differ by chance */
#define STEPS_NEWEST 2    /* seconds */
#define STEPS_LONGER                                                                                         \
	3 /* times as long as a stretch that stands out by lost time, and as costly, to be told in its place */
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
	return !strcmp(lane->class, class) && report_view_is_time(view, lane, NULL);
}

static bool has_steps(const struct steps *steps, size_t second)
{
	return second < steps->count.n && steps->count.v[second] > 0;
}

/* By their time, of which there is some; or steps come, however little of the loop's time they have by then. */
static bool are_there(const struct steps *steps, size_t second)
{
	return second >= steps->open || second >= steps->threads.n ||
	       (steps->threads.v[second] > 0 && steps->threads.v[second] >= steps->least) ||
	       has_steps(steps, second) ||
	       (second > 0 && has_steps(steps, second - 1) && has_steps(steps, second + 1));
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

/* Whether the seconds beside it have them, too: one in which they begin or end is no whole one, and what is read late lies in the next. */
static bool are_there_all_along(const struct steps *steps, size_t second)
{
	return are_there(steps, second) && are_there(steps, second - 1) && are_there(steps, second + 1);
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

		if (slower < SPIKE_SIGMAS * sigma || slower < STEPS_SLOWER * usual ||
		    !are_there_all_along(steps, i)) {
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
	out->stretch_count = 0; /* it is none of them */
	out->during = incident->mean =
	        report_mean(symptom->v + incident->from, incident->to - incident->from);
	incident->excess = (out->during - out->before) * (double)(incident->to - incident->from) *
	                   (double)symptom->step_ns;
	incident->z = (out->during - out->before) / out->baseline.sigma;
}

double report_slow_steps_given_rate(const struct report_view *other, const char *class)
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

/* Whether slow steps cost the loop far more, and for far longer, than the stretch that stands out by lost time: that may be any short one. */
static bool lost_more(const struct report_ranking *slow, const struct steps *steps,
                      const struct report_spike *spike)
{
	double ns = (double)(slow->end_ns - slow->begin_ns);
	double rate = rate_of(steps, slow->begin_ns, slow->end_ns);

	return ns >= STEPS_LONGER * (double)(spike->to - spike->from) * (double)slow->symptom.step_ns &&
	       ns * (1 - rate / slow->steps_before) >= STEPS_LONGER * spike->excess;
}

/* Makes the slow steps the incident, unless one that stands out by lost time cost nearly as much. `sigma`: of all seconds. */
static void take_slow_steps(struct report_ranking *out, struct steps *steps, double sigma, uint64_t end_ns,
                            uint64_t recent_ns)
{
	struct report_ranking slow = *out;

	sigma = sigma < STEPS_VARY * out->steps_before ? sigma : STEPS_VARY * out->steps_before;
	if (steps->count.begin_ns + steps->count.n * steps->count.step_ns > end_ns && steps->count.n > 1)
		steps->count.n--;
	slow.by_steps = false;
	find_slow_steps(&slow, steps, out->steps_before,
	                report_sigma_floor(sigma, 0, STEPS_SIGMA * out->steps_before), recent_ns != 0);
	if (!slow.by_steps || (recent_ns && slow.end_ns + recent_ns < end_ns))
		return;
	if (out->mode == REPORT_SPIKE && !lost_more(&slow, steps, &out->incident))
		return;
	*out = slow;
	place_slow_steps(out);
}

int report_slow_steps_look(struct report_ranking *out, const struct report_view *view, uint64_t recent_ns,
                           bool may_replace)
{
	struct steps steps;
	struct report_baseline all;
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
	if (!err && out->steps_before > 0 && (out->mode != REPORT_SPIKE || may_replace))
		take_slow_steps(out, &steps, all.sigma * 1e9, view->end_ns, recent_ns);
	out->steps_during = rate_of(&steps, out->begin_ns, out->end_ns);
	out->steps_newest = rate_of(&steps, out->end_ns - STEPS_NEWEST * SECOND_NS, out->end_ns);
	free_steps(&steps);
	return err;
}
