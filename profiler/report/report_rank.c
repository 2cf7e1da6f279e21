/* Scores the lanes of a timeline against the time that was lost. */

#include "profiler/report/report_rank.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report_away.h"
#include "profiler/report/report_causes.h"
#include "profiler/report/report_incident.h"
#include "profiler/report/report_oncpu.h"
#include "profiler/report/report_primary.h"
#include "profiler/report/report_untold.h"
#include "profiler/report/report_view.h"

#define CONTEXT_NS 2000000000ULL /* before the incident, for the correlation */
#define AFTER_NS   1000000000ULL
#define SMOOTH_NS  50000000ULL /* to either side */
#define LANE_SIGMA 0.01        /* threads; what the baseline of a cause may not be quieter than */

/* --- causes ------------------------------------------------------------------------------------------------- */

struct rank {
	struct report_ranking *out;
	struct report_view view, other; /* other: the baseline's, if one is given */
	bool has_other;
	struct report_series fine; /* the symptom at 100 Hz, smoothed, around the incident */
};

static bool is_of_cause(const struct report_view *view, const struct timeline_lane *lane, const void *ctx)
{
	return report_cause_has_lane(ctx, view, lane);
}

/* In value per nanosecond. Events that are counted vary by the root of their number. */
static double least_sigma(const struct report_cause *cause, double median)
{
	const struct report_signal *signal =
	        cause->kind == TIMELINE_SIGNAL ? report_signal_of(cause->name) : NULL;

	if (cause->kind != TIMELINE_SIGNAL)
		return LANE_SIGMA;
	if (!signal)
		return sqrt(median / RANK_WIDE_NS) + 1e-12;
	return signal->least / SPIKE_SIGMAS / signal->scale;
}

static int measure_baseline(const struct rank *rank, const struct report_cause *cause,
                            const struct report_series *wide, struct report_baseline *baseline)
{
	const struct report_baseline *own = &rank->out->baseline;
	struct report_series other;
	int err;

	if (!rank->has_other) {
		err = report_baseline_of(baseline, wide, own->from, own->to, 0);
	} else {
		err = report_view_sum(&other, &rank->other, rank->other.begin_ns, rank->other.end_ns,
		                      RANK_WIDE_NS, is_of_cause, cause);
		if (err)
			return err;
		err = report_series_smooth(&other, RANK_REACH);
		if (!err)
			err = report_baseline_of(baseline, &other, 0, other.n, 0);
		report_series_free(&other);
	}
	if (!err) {
		double least = least_sigma(cause, baseline->median);

		baseline->sigma = baseline->sigma > least ? baseline->sigma : least;
	}
	return err;
}

/* The largest correlation of the cause with `effect`, at 100 Hz; *lag_ms where it is not NULL. */
static int correlate(const struct rank *rank, const struct report_cause *cause,
                     const struct report_series *effect, double *correlation, long *lag_ms)
{
	struct report_series fine;
	long lag;
	int err = report_view_sum(&fine, &rank->view, effect->begin_ns,
	                          effect->begin_ns + effect->n * effect->step_ns, effect->step_ns,
	                          is_of_cause, cause);

	if (err)
		return err;
	err = report_series_smooth(&fine, (size_t)(SMOOTH_NS / fine.step_ns));
	if (!err && fine.n == effect->n) {
		double r = report_lagged_correlation(fine.v, effect->v, fine.n,
		                                     (size_t)(RANK_LAG_NS / fine.step_ns), &lag);

		*correlation = r > 0 ? r : 0;
		if (lag_ms)
			*lag_ms = lag * (long)(fine.step_ns / 1000000);
	}
	report_series_free(&fine);
	return err;
}

/* A signal of the host may go with the primary cause while the whole loss changes little, as other waits become fewer. */
static int correlate_with_primary(const struct rank *rank)
{
	struct report_ranking *out = rank->out;
	const struct report_series *around = &rank->fine;
	struct report_series primary;
	int err;

	if (!out->primary)
		return 0;
	err = report_view_sum(&primary, &rank->view, around->begin_ns,
	                      around->begin_ns + around->n * around->step_ns, around->step_ns, is_of_cause,
	                      out->primary);
	if (err)
		return err;
	err = report_series_smooth(&primary, (size_t)(SMOOTH_NS / primary.step_ns));
	for (size_t i = 0; i < out->signal_count && !err; i++) {
		double with_primary = 0;

		err = correlate(rank, &out->signals[i], &primary, &with_primary, NULL);
		if (with_primary > out->signals[i].correlation)
			out->signals[i].correlation = with_primary;
	}
	report_series_free(&primary);
	return err;
}

/* What is not known of before makes no difference to it. */
static void compare(struct report_cause *cause, const struct report_baseline *baseline,
                    const struct report_spike *incident, uint64_t step_ns)
{
	if (cause->before_unknown)
		return;
	cause->before = baseline->median;
	cause->z = (cause->during - cause->before) / baseline->sigma;
	cause->spike = cause->z > 0 ? cause->z / (cause->z + SPIKE_SIGMAS) : 0;
	cause->excess_ns =
	        (cause->during - cause->before) * (double)(incident->to - incident->from) * (double)step_ns;
}

static int score(const struct rank *rank, struct report_cause *cause)
{
	const struct report_spike *incident = &rank->out->incident;
	struct report_baseline baseline;
	struct report_series wide;
	int err = report_view_sum(&wide, &rank->view, rank->view.begin_ns, rank->view.end_ns, RANK_WIDE_NS,
	                          is_of_cause, cause);

	if (err)
		return err;
	err = report_series_smooth(&wide, RANK_REACH);
	if (!err)
		err = measure_baseline(rank, cause, &wide, &baseline);
	if (!err) {
		cause->during = report_mean(wide.v + incident->from, incident->to - incident->from);
		cause->before_unknown = rank->has_other && cause->kind == TIMELINE_SIGNAL &&
		                        !report_untold_tells_signal(&rank->other, cause->name);
		compare(cause, &baseline, incident, wide.step_ns);
	}
	/* Where nothing stands out there is nothing to correlate with, and the whole run would be looked at. */
	if (!err && rank->out->mode == REPORT_SPIKE)
		err = correlate(rank, cause, &rank->fine, &cause->correlation, &cause->lag_ms);
	cause->score = RANK_ALPHA * cause->spike + (1 - RANK_ALPHA) * cause->correlation;
	report_series_free(&wide);
	return err;
}

/* --- which there are ---------------------------------------------------------------------------------------- */

/* Where nothing stands out the ranking is of this run's own ledger, and what is not compared belongs there. */
static int list_causes(struct rank *rank)
{
	struct report_view view = rank->view;
	size_t lanes = timeline_count(rank->view.timeline), rows = ledger_count(rank->view.input->ledger);
	struct report_ranking *out = rank->out;

	out->causes = calloc(lanes + rows + rank->view.spins.n + 1, sizeof(*out->causes));
	out->signals = calloc(lanes + 1, sizeof(*out->signals));
	if (!out->causes || !out->signals)
		return -ENOMEM;
	view.untold = out->mode == REPORT_SPIKE ? view.untold : NULL;
	for (size_t i = 0; i < lanes; i++) {
		const struct timeline_lane *lane = timeline_lane_at(rank->view.timeline, i);
		struct report_cause cause = report_cause_of_lane(lane);

		if (lane->kind == TIMELINE_SIGNAL && *lane->class)
			continue; /* of a process: report_users.h */
		if (lane->kind == TIMELINE_SIGNAL)
			report_causes_add(out->signals, &out->signal_count, &cause);
		else if (report_view_is_lost(&view, lane, NULL))
			report_causes_add(out->causes, &out->count, &cause);
	}
	report_causes_unite(out->signals, &out->signal_count);
	report_causes_unite(out->causes, &out->count);
	if (out->mode != REPORT_SPIKE)
		report_causes_add_ledger(out->causes, &out->count, &view);
	return 0;
}

/* --- a spike, or slow all the time -------------------------------------------------------------------------- */

static int open_fine(struct rank *rank)
{
	const struct report_ranking *out = rank->out;
	uint64_t length_ns = out->end_ns - out->begin_ns,
	         context_ns = length_ns > CONTEXT_NS ? length_ns : CONTEXT_NS;
	uint64_t begin_ns = rank->view.begin_ns, end_ns = rank->view.end_ns;
	int err;

	if (out->begin_ns > begin_ns + context_ns)
		begin_ns = out->begin_ns - context_ns;
	if (out->end_ns + AFTER_NS < end_ns)
		end_ns = out->end_ns + AFTER_NS;
	err = report_view_sum(&rank->fine, &rank->view, begin_ns, end_ns, RANK_STEP_NS, report_view_is_lost,
	                      NULL);
	return err ? err : report_series_smooth(&rank->fine, (size_t)(SMOOTH_NS / RANK_STEP_NS));
}

/* Of all that grew: while one cause takes more, others may take less than before. */
static void share_growth(struct report_ranking *out)
{
	double sum = 0;

	for (size_t i = 0; i < out->count; i++)
		sum += out->causes[i].excess_ns > 0 ? out->causes[i].excess_ns : 0;
	for (size_t i = 0; i < out->count; i++)
		out->causes[i].share =
		        sum > 0 && out->causes[i].excess_ns > 0 ? out->causes[i].excess_ns / sum : 0;
}

static int score_all(struct rank *rank)
{
	struct report_ranking *out = rank->out;
	int err = open_fine(rank);

	for (size_t i = 0; i < out->count && !err; i++)
		err = score(rank, &out->causes[i]);
	for (size_t i = 0; i < out->signal_count && !err; i++)
		err = score(rank, &out->signals[i]);
	if (err)
		return err;
	share_growth(out);
	report_causes_sort(out->signals, out->signal_count);
	report_causes_sort(out->causes, out->count);
	out->processes = rank->view.loop.n_processes;
	out->ranks = rank->view.loop.n_ranks;
	if (out->mode == REPORT_SPIKE)
		report_primary_choose(out);
	else
		report_primary_choose_steady(out, &rank->view, rank->has_other ? &rank->other : NULL);
	return out->mode == REPORT_SPIKE ? correlate_with_primary(rank) : 0;
}

/* --- the other stretches ------------------------------------------------------------------------------------ */

/* The same for a stretch, with causes and signals of its own for the time. */
static int look_into(const struct rank *rank, struct report_stretch *stretch)
{
	const struct report_ranking *all = rank->out;
	struct report_ranking part = *all;
	struct rank own = *rank;
	int err;

	own.out = &part;
	own.fine = (struct report_series){ .n = 0 };
	part.primary = NULL;
	part.incident = stretch->spike;
	part.begin_ns = all->symptom.begin_ns + stretch->spike.from * all->symptom.step_ns;
	part.end_ns = all->symptom.begin_ns + stretch->spike.to * all->symptom.step_ns;
	part.causes = part.signals = NULL;
	part.count = part.signal_count = 0;
	err = list_causes(&own);
	if (!err)
		err = score_all(&own);
	stretch->looked_into = !err;
	stretch->name = part.primary ? part.primary->name : NULL;
	stretch->device = part.primary ? part.primary->device : NULL;
	report_series_free(&own.fine);
	free(part.causes);
	free(part.signals);
	return err;
}

static struct report_stretch *largest_unseen(const struct report_ranking *out)
{
	struct report_stretch *largest = NULL;

	for (size_t i = 0; i < out->stretch_count; i++) {
		struct report_stretch *at = &out->stretches[i];

		if (!at->looked_into && (!largest || at->spike.excess > largest->spike.excess))
			largest = at;
	}
	return largest;
}

/* It is not looked into again. */
static void mark_incident(struct report_ranking *out)
{
	for (size_t i = 0; i < out->stretch_count; i++) {
		struct report_stretch *stretch = &out->stretches[i];

		if (stretch->spike.from != out->incident.from)
			continue;
		stretch->in_incident = stretch->looked_into = true;
		stretch->name = out->primary ? out->primary->name : NULL;
		stretch->device = out->primary ? out->primary->device : NULL;
	}
}

static bool joins(const struct report_ranking *out, const struct report_stretch *stretch, size_t from,
                  size_t to)
{
	size_t reach = (size_t)(RANK_JOIN_NS / out->symptom.step_ns);

	return !stretch->in_incident && stretch->name && !strcmp(stretch->name, out->primary->name) &&
	       !strcmp(stretch->device, out->primary->device) && stretch->spike.from <= to + reach &&
	       stretch->spike.to + reach >= from;
}

/* The incident grows by its neighbours of the same cause, which are no stretches of their own then. Whether it did. */
static bool join_stretches(struct report_ranking *out, size_t *from, size_t *to)
{
	size_t before;

	*from = out->incident.from;
	*to = out->incident.to;
	do {
		before = out->spikes;
		for (size_t i = 0; i < out->stretch_count; i++) {
			struct report_stretch *stretch = &out->stretches[i];

			if (!joins(out, stretch, *from, *to))
				continue;
			stretch->in_incident = true;
			out->spikes--;
			*from = stretch->spike.from < *from ? stretch->spike.from : *from;
			*to = stretch->spike.to > *to ? stretch->spike.to : *to;
		}
	} while (out->spikes < before);
	return *to - *from > out->incident.to - out->incident.from;
}

static int look_at_others(struct rank *rank)
{
	struct report_ranking *out = rank->out;
	struct report_stretch *stretch;
	size_t from, to;
	int err = 0;

	if (out->by_fault)
		out->stretch_count = 0; /* it is none of them */
	mark_incident(out);
	for (size_t i = 0; i < RANK_LOOK_INTO && !err && (stretch = largest_unseen(out)); i++)
		err = look_into(rank, stretch);
	if (err || !out->primary || !join_stretches(out, &from, &to))
		return err;
	err = report_incident_move(out, &rank->view, from, to);
	report_series_free(&rank->fine);
	out->primary = NULL;
	return err ? err : score_all(rank);
}

/* As if nothing stood out. */
static int rank_whole(struct rank *rank)
{
	struct report_ranking *out = rank->out;
	int err;

	report_incident_drop(out);
	out->whole.name = NULL;
	free(out->causes);
	free(out->signals);
	out->causes = out->signals = NULL;
	out->count = out->signal_count = 0;
	report_series_free(&rank->fine);
	err = list_causes(rank);
	return err ? err : score_all(rank);
}

/* What one of the two does not tell of counts on neither side. 0 or -ENOMEM. */
static int leave_untold_out(struct rank *rank)
{
	struct report_untold *untold = calloc(1, sizeof(*untold));

	if (!untold)
		return -ENOMEM;
	rank->out->untold = untold;
	if (report_spins_untold(rank->view.input) || report_spins_untold(rank->other.input))
		rank->view.without_spins = rank->other.without_spins = true;
	report_untold_find(untold, &rank->view, &rank->other);
	rank->view.untold = rank->other.untold = untold;
	return 0;
}

int report_rank(struct report_ranking *ranking, const struct loaded_profiles *input,
                const struct loaded_profiles *baseline, const char *steps, const struct report_hint *hint)
{
	struct rank rank = { .out = ranking };
	int err;

	*ranking = (struct report_ranking){ .mode = REPORT_NOTHING };
	err = report_view_open(&rank.view, input, steps);
	if (!err && baseline) {
		err = report_view_open(&rank.other, baseline, rank.view.steps);
		rank.has_other = !err;
	}
	if (rank.has_other)
		err = leave_untold_out(&rank);
	if (!err)
		err = report_incident_find(ranking, &rank.view, rank.has_other ? &rank.other : NULL, hint, 0);
	if (!err)
		err = list_causes(&rank);
	if (!err)
		err = score_all(&rank);
	if (!err)
		err = look_at_others(&rank);
	if (!err)
		err = report_primary_choose_whole(ranking, &rank.view);
	if (!err && !hint && report_primary_is_whole(ranking, &rank.view))
		err = rank_whole(&rank);
	if (!err)
		err = report_oncpu_find(ranking, &rank.view, rank.has_other ? &rank.other : NULL);
	if (!err)
		err = report_away_find(&ranking->away, &rank.view);
	report_incident_tell(ranking, &rank.view.axis);
	report_series_free(&rank.fine);
	ranking->spins = rank.view.spins;
	rank.view.spins = (struct report_spins){ .n = 0 };
	report_view_close(&rank.view);
	report_view_close(&rank.other);
	if (err)
		report_ranking_free(ranking);
	return err;
}

void report_ranking_free(struct report_ranking *ranking)
{
	report_series_free(&ranking->symptom);
	free(ranking->causes);
	free(ranking->signals);
	free(ranking->stretches);
	report_spins_free(&ranking->spins);
	free(ranking->untold);
	*ranking = (struct report_ranking){ .mode = REPORT_NOTHING };
}
