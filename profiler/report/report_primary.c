/* Chooses the primary cause among scored ones. */

#include "profiler/report/report_primary.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/loaded/loaded_profiles.h"

#define PRIMARY_PART       4 /* of what grew most */
#define PRIMARY_SIGMAS     1
#define STEADY_LEAST       0.05 /* of the wall time, for something to be wrong all the time */
#define SIGNAL_CORRELATION 0.3  /* from which on a signal of the host speaks for a cause */

static int compare_causes(const void *left, const void *right)
{
	const struct report_cause *a = left, *b = right;
	int order = (b->score > a->score) - (b->score < a->score);

	order = order ? order : (b->share > a->share) - (b->share < a->share);
	order = order ? order : strcmp(a->name, b->name);
	return order ? order : strcmp(a->device, b->device);
}

void report_causes_sort(struct report_cause *causes, size_t count)
{
	qsort(causes, count, sizeof(*causes), compare_causes);
}

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

void report_primary_choose(struct report_ranking *out)
{
	const struct report_cause *direct, *indirect;

	/* Also after another incident was chosen before, when the network may have spoken. */
	for (size_t i = 0; i < out->count; i++)
		if (out->causes[i].family == FAMILY_NETWORK)
			out->causes[i].indirect =
			        report_is_indirect(out->causes[i].kind, out->causes[i].name) &&
			        !network_speaks(out);
	direct = best_of(out, false);
	indirect = best_of(out, true);
	out->primary = direct && (!indirect || direct->share >= DIRECT_LEAST) ? direct : indirect;
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
	if (!cause->indirect && primary->indirect)
		return "it took too little of what grew to explain it";
	return "it took less than a quarter of what the cause took that grew most";
}

/* --- of a run that is slow all the time ----------------------------------------------------------------------- */

/* The run's share of each cause by the ledger, which is exact. */
static void share_of_ledger(const struct report_view *view, struct report_cause *cause)
{
	double wall = 0, sum = 0;

	for (size_t i = 0; i < ledger_count(view->input->ledger); i++) {
		const struct ledger_row *row = ledger_at(view->input->ledger, i);
		bool is_runqueue = cause->kind == TIMELINE_RUNQUEUE && row->state == LEDGER_RUNQUEUE;
		bool is_stall = cause->kind == TIMELINE_STALL && row->state == LEDGER_STALL &&
		                !strcmp(row->cause, cause->name) && !strcmp(row->device, cause->device);
		bool is_blocked = cause->kind == TIMELINE_BLOCKED && row->state == LEDGER_BLOCKED &&
		                  !strcmp(row->cause, cause->name);

		if (!report_view_counts(view, row->class))
			continue;
		wall += (double)row->ns;
		if (is_runqueue || is_stall || is_blocked)
			sum += (double)row->ns;
	}
	cause->excess_ns = sum;
	cause->share = wall > 0 ? sum / wall : 0;
	cause->score = cause->share;
	cause->before = cause->z = cause->spike = cause->correlation = 0;
}

void report_primary_choose_steady(struct report_ranking *out, const struct report_view *view)
{
	for (size_t i = 0; i < out->count; i++)
		share_of_ledger(view, &out->causes[i]);
	report_causes_sort(out->causes, out->count);
	for (size_t i = 0; i < out->count && !out->primary; i++)
		if (!out->causes[i].indirect && out->causes[i].share >= STEADY_LEAST)
			out->primary = &out->causes[i];
	if (!out->primary)
		out->mode = REPORT_NOTHING;
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
