/* Chooses the primary cause among scored ones. */

#include "profiler/report/report_primary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_sample.h"
#include "profiler/report/report_causes.h"

#define PRIMARY_PART       4 /* of what grew most */
#define PRIMARY_SIGMAS     1
#define STEADY_LEAST       0.05 /* of the wall time, for something to be wrong all the time */
#define WAIT_BEFORE        0.25 /* of it and a wait of the loop's: what took less does not come before that */
#define USUAL_MOST         1.1 /* times its share in the given baseline: what takes no more is as it was there */
#define BOUND_LEAST        0.3 /* of the time, for a run to be bound by a GPU */
#define WHOLE_LEAST        2   /* times what the incident took, for the whole run to have a word */
#define WHOLE_PARTS        3   /* of the run, of which a stretch that tells less is no more than one */
#define SIGNAL_CORRELATION 0.3 /* from which on a signal of the host speaks for a cause */

/* --- of a spike ----------------------------------------------------------------------------------------------- */

/* A wait for a peer is the network's if the host's own network says so at the same time. */
static bool network_speaks(const struct report_ranking *out)
{
	for (size_t i = 0; i < out->signal_count; i++)
		if (out->signals[i].family == FAMILY_NETWORK && out->signals[i].z >= SPIKE_SIGMAS &&
		    out->signals[i].correlation >= SIGNAL_CORRELATION)
			return true;
	return false;
}

/* Whether it is waiting for other ranks. Where there are some, a GPU waits for theirs in kernels of a collective, and the thread for it. */
static bool is_for_ranks(const struct report_ranking *out, const struct report_cause *cause)
{
	return !strcmp(cause->name, "collective") || (out->ranks > 1 && !strcmp(cause->name, "gpu_sync"));
}

/* Causes are in the order of their score. */
static const struct report_cause *best_of(const struct report_ranking *out, bool indirect)
{
	double most = 0;

	for (size_t i = 0; i < out->count; i++)
		if (out->causes[i].indirect == indirect && out->causes[i].z >= PRIMARY_SIGMAS &&
		    out->causes[i].excess_ns > most)
			most = out->causes[i].excess_ns;
	for (size_t i = 0; i < out->count && most > 0; i++) {
		const struct report_cause *cause = &out->causes[i];

		if (cause->indirect == indirect && cause->excess_ns * PRIMARY_PART >= most &&
		    cause->z >= PRIMARY_SIGMAS)
			return cause;
	}
	return NULL;
}

/* What took less than this of the growth explains nothing. */
#define DIRECT_LEAST 0.15

/* Whether what the direct cause took may have made all of what the indirect one did. Of N ranks one has it, and the others each wait as long. */
static bool explains(const struct report_ranking *out, const struct report_cause *direct,
                     const struct report_cause *indirect)
{
	if (direct->share >= DIRECT_LEAST)
		return true;
	return is_for_ranks(out, indirect) && out->processes > 1 &&
	       2 * direct->excess_ns * (double)(out->processes - 1) >= indirect->excess_ns;
}

/* Whether the cause grew by too little to have made steps as slow as they came: each thread of a loop lost the part of its time by which they came
 * more slowly. */
static bool is_slight(const struct report_ranking *out, const struct report_cause *cause)
{
	double slower = 1 - out->steps_during / out->steps_before;

	return out->by_steps && out->steps_before > 0 && out->steps_during >= 0 &&
	       cause->excess_ns < DIRECT_LEAST * slower * (double)(out->end_ns - out->begin_ns);
}

void report_primary_choose(struct report_ranking *out)
{
	const struct report_cause *direct, *indirect;

	/* Also after another incident was chosen before, when the network may have spoken. */
	for (size_t i = 0; i < out->count; i++) {
		struct report_cause *cause = &out->causes[i];
		bool of_others = report_is_indirect(cause->kind, cause->name) || is_for_ranks(out, cause);

		cause->indirect = of_others && !(cause->family == FAMILY_NETWORK && network_speaks(out));
	}
	direct = best_of(out, false);
	indirect = best_of(out, true);
	out->primary = direct && (!indirect || explains(out, direct, indirect)) ? direct : indirect;
	if (out->primary && is_slight(out, out->primary))
		out->primary = NULL;
}

/* Of a cause with its shares: whether it is no wait for others, and took enough to be told. `felt`: and cost the loop as much, or may have cost
 * it twice as much, which is but a bound. */
static bool is_steady(const struct report_cause *cause, bool felt)
{
	return !cause->indirect && cause->score >= STEADY_LEAST &&
	       (!felt || cause->of_loop >= STEADY_LEAST || cause->felt >= 2 * STEADY_LEAST);
}

const char *report_primary_why_not(const struct report_ranking *ranking, const struct report_cause *cause)
{
	const struct report_cause *primary = ranking->primary;

	if (!primary || cause >= primary)
		return "";
	if (cause->indirect && !primary->indirect)
		return "it is a wait for other threads or peers, and what those did comes before it";
	if (ranking->mode == REPORT_SPIKE && cause->z < PRIMARY_SIGMAS)
		return "it grew by less than a sigma";
	if (ranking->mode == REPORT_STEADY && !cause->indirect && !is_steady(cause, true))
		return "the loop did not wait for it, as far as is known";
	if (!cause->indirect && primary->indirect)
		return "it took too little of what grew to explain it";
	return "it took less than a quarter of what the cause took that grew most";
}

/* --- of the whole run --------------------------------------------------------------------------------------------- */

/* The first such one, which has the highest score; NULL: there is none. */
static const struct report_cause *largest_steady(const struct report_ranking *ranking, bool felt)
{
	for (size_t i = 0; i < ranking->count; i++)
		if (is_steady(&ranking->causes[i], felt))
			return &ranking->causes[i];
	return NULL;
}

static const struct report_cause *largest_but_gpu(const struct report_ranking *ranking)
{
	for (size_t i = 0; i < ranking->count; i++)
		if (ranking->causes[i].family != FAMILY_GPU && is_steady(&ranking->causes[i], true))
			return &ranking->causes[i];
	return NULL;
}

/* Not over, so that nobody knows yet what it is. */
static bool is_undecided(const struct report_cause *cause)
{
	return !strcmp(cause->name, LOADED_UNDECIDED);
}

/* A program chose how long it sleeps, and someone stopped it. */
static bool is_chosen(const struct report_cause *cause)
{
	return !strcmp(cause->name, "sleep") || !strcmp(cause->name, "stopped");
}

/* `or_chosen`: not only of waits that others end. */
static const struct report_cause *largest_wait_of_loop(const struct report_ranking *ranking, double least,
                                                       bool or_chosen)
{
	const struct report_cause *most = NULL;

	for (size_t i = 0; i < ranking->count; i++) {
		const struct report_cause *cause = &ranking->causes[i];

		if (cause->indirect && cause->of_loop >= least && !is_undecided(cause) &&
		    (or_chosen || !is_chosen(cause)) && (!most || cause->of_loop > most->of_loop))
			most = cause;
	}
	return most;
}

bool report_primary_of_loop(const struct report_cause *cause)
{
	return cause->of_loop > cause->share;
}

/* What the primary cause takes in the other run, of the same time as in this one; negative: that run does not tell. */
static double share_there(const struct report_cause *primary, const struct report_view *other)
{
	const struct timeline_lane lane = { .kind = primary->kind, .name = primary->name };
	struct report_cause there = *primary;
	bool loop = report_primary_of_loop(primary);
	double share;

	if (loop && !other->loop.n)
		return -1;
	report_causes_share(&there, 1, other);
	share = loop ? there.of_loop : there.share;
	return share <= 0 && report_view_is_untold(other->untold, &lane) ? -1 : share;
}

bool report_primary_as_baseline(const struct report_ranking *ranking)
{
	const struct report_cause *primary = ranking->primary;

	return ranking->mode == REPORT_STEADY && ranking->baseline.given &&
	       (report_primary_of_loop(primary) ? primary->of_loop : primary->share) <=
	               USUAL_MOST * ranking->share_there;
}

void report_primary_choose_steady(struct report_ranking *out, const struct report_view *view,
                                  const struct report_view *other)
{
	const struct report_cause *wait, *felt;

	report_causes_share(out->causes, out->count, view);
	felt = out->primary = largest_steady(out, true);
	wait = largest_wait_of_loop(out, DIRECT_LEAST, false);
	if (out->primary && wait && out->primary->score < WAIT_BEFORE * (out->primary->score + wait->of_loop))
		out->primary = wait;
	if (!out->primary)
		out->primary = largest_wait_of_loop(out, STEADY_LEAST, true);
	out->beside_gpu = NULL;
	if (out->primary && out->primary->family == FAMILY_GPU)
		out->beside_gpu = largest_but_gpu(out);
	out->unfelt = felt ? NULL : largest_steady(out, false);
	out->share_there = out->primary && other ? share_there(out->primary, other) : -1;
	if (!out->primary)
		out->mode = REPORT_NOTHING;
}

bool report_primary_is_wait(const struct report_ranking *ranking)
{
	return ranking->mode == REPORT_STEADY && ranking->primary && ranking->primary->indirect;
}

const struct report_cause *report_primary_wait(const struct report_ranking *ranking)
{
	const struct report_cause *most = NULL;

	for (size_t i = 0; ranking->mode == REPORT_NOTHING && i < ranking->count; i++) {
		const struct report_cause *cause = &ranking->causes[i];

		if (cause->indirect && cause->share >= STEADY_LEAST && (!most || cause->share > most->share))
			most = cause;
	}
	return most;
}

bool report_primary_is_bound(const struct report_ranking *ranking)
{
	const struct report_cause *primary = ranking->primary;

	/* They are in the order of their score. */
	return ranking->mode == REPORT_STEADY && primary && primary->family == FAMILY_GPU &&
	       primary == ranking->causes && primary->score >= BOUND_LEAST;
}

double report_incident_ns(const struct report_ranking *ranking)
{
	double ns = ranking->primary ? ranking->primary->excess_ns : ranking->incident.excess;

	return ns > 0 ? ns : 0;
}

/* What a cause takes in the whole run by what it took in the baseline. */
static double usual_ns(const struct report_ranking *out, const struct report_cause *cause,
                       const struct report_view *view)
{
	for (size_t i = 0; i < out->count; i++)
		if (report_cause_same(&out->causes[i], cause))
			return out->causes[i].before * (double)(view->end_ns - view->begin_ns);
	return 0;
}

/* Of causes with their shares: the one that took most, if it took far more than the incident. What other ranks waited for in that is none. */
static const struct report_cause *largest_whole(const struct report_ranking *out,
                                                const struct report_cause *causes, size_t count)
{
	const double least = WHOLE_LEAST * report_incident_ns(out);
	bool ranks_wait = out->primary && !is_for_ranks(out, out->primary);
	const struct report_cause *most = NULL;

	for (size_t i = 0; i < count; i++)
		if (is_steady(&causes[i], true) && causes[i].excess_ns >= least &&
		    !(ranks_wait && is_for_ranks(out, &causes[i])) &&
		    (!most || causes[i].excess_ns > most->excess_ns))
			most = &causes[i];
	return most;
}

int report_primary_choose_whole(struct report_ranking *out, const struct report_view *view)
{
	const struct report_cause *largest;
	struct report_view all = *view;
	struct report_cause *causes;
	size_t count = 0;

	out->whole = (struct report_cause){ .name = NULL };
	if (out->mode != REPORT_SPIKE)
		return 0;
	causes = calloc(ledger_count(view->input->ledger) + view->spins.n + 1, sizeof(*causes));
	if (!causes)
		return -ENOMEM;
	all.untold = NULL; /* nothing is compared */
	report_causes_add_ledger(causes, &count, &all);
	report_causes_share(causes, count, view);
	largest = largest_whole(out, causes, count);
	if (largest) {
		out->whole = *largest;
		out->whole_is_usual = 2 * usual_ns(out, largest, view) >= largest->excess_ns;
	}
	free(causes);
	return 0;
}

bool report_primary_is_whole(const struct report_ranking *ranking, const struct report_view *view)
{
	const struct report_cause *whole = &ranking->whole;

	return ranking->by_steps && !ranking->primary && whole->name && whole->score >= DIRECT_LEAST &&
	       WHOLE_PARTS * (ranking->end_ns - ranking->begin_ns) <= view->end_ns - view->begin_ns;
}

/* --- live ----------------------------------------------------------------------------------------------------- */

bool report_ranking_is_news(const struct report_ranking *ranking)
{
	if (ranking->mode != REPORT_SPIKE || !ranking->primary)
		return false;
	if (ranking->by_fault)
		return true;
	return ranking->during >= ranking->before - ranking->baseline.sigma &&
	       !(ranking->by_steps && ranking->steps_during < 0);
}
