/* Chooses the advice. */

#include "profiler/report/report_next.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "profiler/loaded/loaded_sample.h"
#include "profiler/report/report.h"
#include "profiler/report/report_causes.h"
#include "profiler/report/report_primary.h"

/* What others waited for, where that is known of a cause that is a wait for others; NULL: it is none, or not known. */
static const struct report_chain *chain_behind(const struct report *report)
{
	const struct report_chains *chains = report->paths ? &report->paths->chains : NULL;

	return chains && chains->count && report->ranking.primary->kind == TIMELINE_BLOCKED
	               ? &chains->chain[0]
	               : NULL;
}

static void advise(struct report_document *document, const char *cause)
{
	for (const char *const *advice = report_advice(cause); *advice; advice++)
		report_document_point(document, "%s", *advice);
}

static void point_to_stacks(struct report_document *document, const struct report_cause *cause)
{
	report_document_point(document, "`stallprof top FILE --stall %s --native` has all stacks of it.",
	                      cause->name);
}

/* Of what is at the end of the chain. */
static void advise_behind(struct report_document *document, const struct report_chain *chain, bool gil)
{
	char cause[64];

	snprintf(cause, sizeof(cause), "%.*s", (int)strcspn(chain->end, " "), chain->end);
	/* That chain is of waits for another lock, or of few of those for the GIL. */
	if (gil && strcmp(cause, LOADED_ACTIVE) != 0)
		advise(document, REPORT_GIL);
	if (!strcmp(cause, LOADED_ACTIVE) && gil) {
		report_document_point(document, "Who ended the wait, in %s by then, was active meanwhile.",
		                      chain->from);
		advise(document, REPORT_GIL);
		return;
	}
	if (!strcmp(cause, LOADED_ACTIVE)) {
		report_document_point(
		        document,
		        "The thread that ended the wait, in %s by then, was active meanwhile: see "
		        "what it computes, or share its work among more threads (of Python: "
		        "processes).",
		        chain->from);
		return;
	}
	report_document_point(document, "It ends at %s of %s: look at that first.", chain->end, chain->from);
	advise(document, cause);
}

static void advise_primary(struct report_document *document, const struct report *report)
{
	const struct report_cause *primary = report->ranking.primary, *whole = &report->ranking.whole;
	const struct report_chain *chain = chain_behind(report);
	const char *name = report_primary_name(report);

	if (chain)
		advise_behind(document, chain, !strcmp(name, REPORT_GIL));
	else
		advise(document, name);
	if (primary->kind != TIMELINE_RUNQUEUE) /* it has no stacks */
		point_to_stacks(document, primary);
	if (whole->name && !report_cause_same(whole, primary))
		report_document_point(
		        document,
		        "%s took more in the whole recording than the incident did: see `stallprof "
		        "top FILE`, too.",
		        whole->name);
	if (report->wait.gil && strcmp(name, REPORT_GIL) != 0)
		advise(document, REPORT_GIL);
}

static void advise_wait(struct report_document *document, const struct report_cause *wait)
{
	advise(document, wait->name);
	point_to_stacks(document, wait);
}

void report_next(struct report_document *document, const struct report *report)
{
	const struct report_cause *most = report_primary_wait(&report->ranking);
	const struct report_wait *wait = &report->wait;

	if (report->ranking.primary)
		advise_primary(document, report);
	else if (report->ranking.oncpu.class)
		report_document_point(
		        document,
		        "What %s computes: `stallprof top FILE --type cpu`, of a recording with "
		        "--oncpu-hz 99. See above whether the CPUs were slower.",
		        report->ranking.oncpu.class);
	else if (wait->chain.ns > 0)
		advise_behind(document, &wait->chain, wait->gil);
	else if (wait->gil)
		advise(document, REPORT_GIL);
	else if (most)
		advise_wait(document, most);
	else
		report_document_point(
		        document, "Nothing for this window. `stallprof top FILE` has where the time went.");
}
