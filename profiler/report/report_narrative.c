/* Puts the symptom, the primary cause and the ranking into words. */

#include "profiler/report/report_narrative.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/request_rows.h"
#include "profiler/format/stamp.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report.h"
#include "profiler/report/report_checkpoints.h"
#include "profiler/report/report_evidence.h"
#include "profiler/report/report_next.h"
#include "profiler/report/report_tables.h"
#include "profiler/report/report_verdict.h"
#include "profiler/report/report_words.h"
#include "profiler/top/top_requests.h"

#define REQUESTS_SHOWN 5
#define CELL_BYTES     256
#define SECOND         1e9
#define MUCH_OF_IT     0.15 /* of what grew */
#define BEFORE_NS                                                                                            \
	1000000000ULL /* from which on the incident began before the window, which is cut to tenths of a second */

/* --- window and symptom ------------------------------------------------------------------------------------- */

static void tell_window(struct report_document *document, const struct report *report)
{
	struct stamp_coverage covered = stamp_coverage(report->input->stamp);
	const struct report_ranking *ranking = &report->ranking;
	char from[48], to[48], length[TEXT_DURATION_BYTES];

	report_document_section(document, "Window");
	if (!covered.windows)
		report_document_say(document, "The profile does not say when it was recorded.");
	else
		report_document_say(document, "%s to %s: %s in %" PRIu64 " window%s, %zu process%s.",
		                    report_moment_text(from, covered.first_ns),
		                    report_moment_text(to, covered.last_ns),
		                    report_duration_text(length, (double)covered.covered_ns), covered.windows,
		                    covered.windows == 1 ? "" : "s", report->classes.processes,
		                    report->classes.processes == 1 ? "" : "es");
	if (!report->has_timeline)
		return;
	if (ranking->baseline.given)
		report_document_say(document, "The baseline is another profile.");
	else
		report_document_say(document, "The baseline is the %s stretch of it, %s to %s.",
		                    ranking->steps ? "fastest" : "quietest",
		                    report_moment_text(from, ranking->baseline_begin_ns),
		                    report_moment_text(to, ranking->baseline_end_ns));
	if (ranking->mode == REPORT_SPIKE && covered.windows &&
	    ranking->begin_ns + BEFORE_NS < covered.first_ns)
		report_document_say(
		        document,
		        "The incident began before this window: stacks and requests are of this one.");
	if (ranking->symptom.step_ns > RANK_WIDE_NS)
		report_document_say(
		        document,
		        "It is so long that it is looked at in steps of %s: what is shorter does not show.",
		        report_duration_text(length, (double)ranking->symptom.step_ns));
	if (ranking->goes_on)
		report_document_say(document,
		                    "This report was written while it went on, and says nothing of what came "
		                    "after.");
	if (ranking->spikes > 1)
		report_document_say(
		        document,
		        "%zu stretches stand out; this is about the one in which most time was lost.",
		        ranking->spikes);
	if (ranking->spikes > 1)
		report_table_stretches(document, ranking);
}

static void tell_step_rate(struct report_document *document, const struct report_ranking *ranking)
{
	char sigmas[64] = "", before[REPORT_RATE_BYTES], during[REPORT_RATE_BYTES];

	if (ranking->by_steps && ranking->steps_z > 0)
		snprintf(sigmas, sizeof(sigmas), ", %.1f sigmas fewer", ranking->steps_z);
	report_document_say(document, "Steps a second: %s before, %s during%s.",
	                    report_rate_text(before, ranking->steps_before),
	                    report_rate_text(during, ranking->steps_during), sigmas);
}

static void tell_steps(struct report_document *document, const struct report *report)
{
	const struct loaded_class *class = report->steps;
	char p50[TEXT_DURATION_BYTES], p99[TEXT_DURATION_BYTES], worst[TEXT_DURATION_BYTES];

	if (!class) {
		report_document_say(document, "No class has several tags, so nothing can be said of steps.");
		return;
	}
	report_document_say(
	        document, "%s: %zu steps of p50 %s, p99 %s; the worst took %s (%s id=%" PRIu64 ").",
	        class->name, class->tags, report_duration_text(p50, (double)class->p50_ns),
	        report_duration_text(p99, (double)class->p99_ns),
	        report_duration_text(worst, (double)class->worst_ns),
	        class->worst ? class->worst->tag : class->name, class->worst ? class->worst->id : 0);
	if (report->ranking.mode == REPORT_SPIKE && report->ranking.steps_before >= 0 &&
	    report->ranking.steps_during >= 0)
		tell_step_rate(document, &report->ranking);
}

static void tell_lost_time(struct report_document *document, const struct report_ranking *ranking)
{
	const char *than = ranking->during < ranking->before ? "less" : "more";
	char lost[TEXT_DURATION_BYTES];

	report_document_say(document,
	                    "Time lost by tagged threads (all that is no work on a CPU): %.2f threads before "
	                    "(sigma %.2f), "
	                    "%.2f during, %.1f sigmas %s: %s %s in all.",
	                    ranking->before, ranking->baseline.sigma, ranking->during,
	                    fabs(ranking->incident.z), than,
	                    report_duration_text(lost, fabs(ranking->incident.excess)), than);
}

static void tell_symptom(struct report_document *document, const struct report *report)
{
	report_document_section(document, "GPUs and symptom");
	report_evidence_gpus(document, report);
	tell_steps(document, report);
	if (report->has_timeline && report->ranking.mode == REPORT_SPIKE)
		tell_lost_time(document, &report->ranking);
}

/* --- the primary cause -------------------------------------------------------------------------------------- */

static void tell_details(struct report_document *document, const struct report_paths *paths)
{
	char time[TEXT_DURATION_BYTES];

	for (size_t i = 0; i < paths->label_count; i++)
		report_document_point(document, "%s %s: %s of its waits", paths->label[i].key,
		                      paths->label[i].value,
		                      report_duration_text(time, (double)paths->label[i].ns));
	if (paths->holder_ns)
		report_document_point(document, "who brought the device back: %s, %s", paths->holder,
		                      report_duration_text(time, (double)paths->holder_ns));
}

static void tell_request(struct report_document *document, const struct top_request *row)
{
	char mean[TEXT_DURATION_BYTES];

	report_document_point(document,
	                      "%s: %.1f MB in %" PRIu64 " request%s (%s), mean %s, %.1f %% of the time%s",
	                      *row->class ? row->class : "(no tag)", (double)row->bytes / 1e6, row->requests,
	                      row->requests == 1 ? "" : "s", request_op_name(row->op),
	                      report_duration_text(mean, (double)row->ns / (double)row->requests),
	                      row->device_ns ? 100.0 * (double)row->ns / (double)row->device_ns : 0.0,
	                      row->writeback_bytes ? ", some by writeback" : "");
}

static void tell_requests(struct report_document *document, const struct report *report)
{
	const char *device = report->ranking.primary->device;
	struct top_requests requests;
	size_t told = 0;

	if (!*device || top_requests_build(&requests, report->input))
		return;
	for (size_t i = 0; i < requests.count && told < REQUESTS_SHOWN; i++) {
		if (strcmp(requests.rows[i].device, device) != 0 || !requests.rows[i].requests)
			continue;
		if (!told++)
			report_document_say(document,
			                    "Whose requests %s served in the whole window:", device);
		tell_request(document, &requests.rows[i]);
	}
	top_requests_free(&requests);
}

static void tell_users(struct report_document *document, const struct report *report)
{
	if (report->user_count)
		report_document_say(document, "Processes of the host that %s more than before, %s:",
		                    *report->users[0].device ? "used the disk" : "ran",
		                    *report->users[0].device
		                            ? "without a tag (those with one are in the list above)"
		                            : "tagged or not");
	for (size_t i = 0; i < report->user_count; i++) {
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		if (!out)
			return;
		report_user_text(out, &report->users[i]);
		if (!fclose(out))
			report_document_point(document, "%s", text);
		free(text);
	}
}

/* Whether that is the primary cause, or took much of what grew beside it. */
static bool is_much(const struct report_ranking *ranking, const char *cause)
{
	for (size_t i = 0; i < ranking->count; i++)
		if (!strcmp(ranking->causes[i].name, cause))
			return &ranking->causes[i] == ranking->primary ||
			       ranking->causes[i].share >= MUCH_OF_IT;
	return false;
}

static void tell_last_rank(struct report_document *document, const struct report *report)
{
	const struct report_last_rank *last = &report->last_rank;
	char own[TEXT_DURATION_BYTES], others[TEXT_DURATION_BYTES];

	if (!last->ranks || !is_much(&report->ranking, last->by_gpu ? "gpu_sync" : "collective"))
		return;
	report_document_say(
	        document,
	        "Of the %zu ranks here rank %" PRIu32
	        " waited least for %s: %s in the whole recording, %.1f %% of its time, "
	        "where they waited %s on average, %.1f %% of theirs. %s",
	        last->ranks, last->rank, last->by_gpu ? "its GPU" : "the others",
	        report_duration_text(own, (double)last->ns), last->share * 100,
	        report_duration_text(others, (double)last->others_ns), last->others_share * 100,
	        last->by_gpu
	                ? "All took as many steps: the others' GPUs may have waited for it, in collectives."
	                : "It came last of these, and they waited for it.");
}

static void tell_cause(struct report_document *document, const struct report *report)
{
	const struct report_cause *primary = report->ranking.primary;
	char text[CELL_BYTES], time[TEXT_DURATION_BYTES];

	report_document_section(document, "Primary cause");
	if (!primary) {
		report_document_say(document, "There is none.");
		return;
	}
	report_document_say(document, "%s: %s. Family: %s.", report_cause_text(text, sizeof(text), primary),
	                    report_cause_words(report_primary_name(report)),
	                    report_family_name(primary->family));
	if (report->ranking.mode == REPORT_SPIKE)
		report_document_say(document,
		                    "Lost to it: %.2f threads before, %.2f during, %.1f sigmas more, %s in "
		                    "all. Score %.2f "
		                    "(spike %.2f, correlation %.2f; the loss follows %ld ms later).",
		                    primary->before, primary->during, primary->z,
		                    report_duration_text(time, primary->excess_ns), primary->score,
		                    primary->spike, primary->correlation, primary->lag_ms);
	else
		report_document_say(document, "Lost to it: %s, %.1f %% of the tagged threads' wall time.",
		                    report_duration_text(time, primary->excess_ns), primary->share * 100);
	if (report->paths && report->paths->count)
		report_document_say(document, "Tag of the longest waits: %s.", report->paths->path[0].tag);
	if (report->paths)
		tell_details(document, report->paths);
	tell_last_rank(document, report);
	tell_requests(document, report);
	tell_users(document, report);
}

void report_narrate(struct report_document *document, const struct report *report)
{
	char *verdict = report_verdict_text(report);

	report_document_begin(document, "Stall report");
	report_document_say(document, "%s", verdict ? verdict : "");
	free(verdict);
	tell_window(document, report);
	tell_symptom(document, report);
	tell_cause(document, report);
	report_evidence_path(document, report);
	report_checkpoints(document, report->input);
	report_table_causes(document, &report->ranking);
	report_evidence_signals(document, report);
	report_evidence_hooks(document, report);
	report_document_section(document, "What to do next");
	report_next(document, report);
	report_evidence_unseen(document, report);
}
