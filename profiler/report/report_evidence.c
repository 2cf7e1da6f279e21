/* Puts the evidence into words. */

#include "profiler/report/report_evidence.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report.h"
#include "profiler/report/report_chain.h"
#include "profiler/report/report_words.h"
#include "profiler/top/top_seen.h"

#define CELL_BYTES 256

#define CHAINS_SHOWN 4

bool report_signal_hook(const struct report *report, const char *signal, struct stamp_hook *hook)
{
	for (size_t i = 0; i < stamp_hook_count(report->input->stamp); i++) {
		*hook = stamp_hook_at(report->input->stamp, i);
		if (!strcmp(hook->cause, REPORT_SIGNALS) && !strcmp(hook->hook, signal))
			return true;
	}
	return false;
}

/* --- GPUs --------------------------------------------------------------------------------------------------- */

void report_evidence_gpus(struct report_document *document, const struct report *report)
{
	const struct report_ranking *ranking = &report->ranking;
	struct stamp_hook hook;
	bool any = false;

	for (size_t i = 0; i < ranking->signal_count; i++) {
		const struct report_cause *signal = &ranking->signals[i];

		if (strcmp(signal->name, "gpu_busy") != 0)
			continue;
		any = true;
		if (signal->before_unknown)
			report_document_say(document, "%s: busy %.0f %% of the time (NVML).", signal->device,
			                    signal->during * 1e5);
		else
			report_document_say(document,
			                    "%s: busy %.0f %% of the time before, %.0f %% during (NVML).",
			                    signal->device, signal->before * 1e5, signal->during * 1e5);
	}
	if (any)
		return;
	if (report_signal_hook(report, "gpu_busy", &hook) && hook.state != HOOK_ATTACHED)
		report_document_say(document,
		                    "How busy GPUs were is not known (%s): the symptom is the steps' time.",
		                    hook.reason);
	else
		report_document_say(document, "No GPU is seen: the symptom is the steps' time.");
}

/* --- path --------------------------------------------------------------------------------------------------- */

static void tell_layers(struct report_document *document, const struct report_cause *cause,
                        const struct report_path *path)
{
	char time[TEXT_DURATION_BYTES], each[TEXT_DURATION_BYTES];

	text_short_duration(time, (uint64_t)path->ns);
	report_document_point(document, "%s lost %s here%s%s", path->class, time,
	                      *path->tag ? ", longest: " : "", path->tag);
	report_document_point(document, "its own line: %s (%s)", path->own, time);
	if (*path->call)
		report_document_point(document, "in the call: %s", path->call);
	if (*path->kernel)
		report_document_point(document, "in the kernel: %s", path->kernel);
	if (path->waits > 0)
		report_document_point(document, "cause: %s%s%s, %lld wait%s of %s on average", cause->name,
		                      *cause->device ? " on " : "", cause->device, (long long)path->waits,
		                      path->waits == 1 ? "" : "s",
		                      text_short_duration(each, (uint64_t)(path->ns / path->waits)));
}

/* Who waited for the cause through others. */
static void tell_chains(struct report_document *document, const struct report *report)
{
	const struct report_chains *chains = &report->paths->chains;
	char time[TEXT_DURATION_BYTES], *text;
	size_t size;

	for (size_t i = 0; i < chains->count && i < CHAINS_SHOWN; i++) {
		const struct report_chain *chain = &chains->chain[i];
		FILE *out = open_memstream(&text, &size);

		if (!out)
			return;
		report_chain_text(out, chain);
		if (!fclose(out))
			report_document_point(document, "%s waited %s through others (%s): %s", chain->class,
			                      text_short_duration(time, (uint64_t)chain->ns), chain->kind,
			                      text);
		free(text);
	}
}

/* Whether waits of the kind are told as chains. */
static bool is_chained(const struct report *report, const char *kind)
{
	const struct report_chains *chains = report->paths ? &report->paths->chains : NULL;

	for (size_t i = 0; chains && i < chains->count; i++)
		if (!strcmp(chains->chain[i].kind, kind))
			return true;
	return false;
}

/* Whoever waited for other threads at the same time, if it is not known for what those waited: the step that they hold up. */
static void tell_held_up(struct report_document *document, const struct report *report)
{
	const struct report_ranking *ranking = &report->ranking;
	char time[TEXT_DURATION_BYTES];

	for (size_t i = 0; i < ranking->count && ranking->mode == REPORT_SPIKE; i++) {
		const struct report_cause *cause = &ranking->causes[i];

		if (!cause->indirect || cause == ranking->primary || cause->z < SPIKE_SIGMAS ||
		    cause->share < 0.05 || is_chained(report, cause->name))
			continue;
		report_document_say(
		        document,
		        "At the same time %s was lost %s (%s). That it was for the same cause is likely, "
		        "not shown.",
		        text_computed_duration(time, cause->excess_ns), report_cause_words(cause->name),
		        cause->name);
	}
}

void report_evidence_path(struct report_document *document, const struct report *report)
{
	const struct report_paths *paths = report->paths;
	char width[TEXT_DURATION_BYTES];

	if (!report->ranking.primary)
		return;
	report_document_section(document, "Path");
	if (!paths || !paths->count)
		report_document_say(
		        document,
		        report->ranking.primary->kind == TIMELINE_RUNQUEUE
		                ? "Waiting for a CPU has no stack: a thread may be put off it anywhere."
		                : "No wait of it was kept with its stack.");
	else if (paths->whole)
		report_document_say(document, "By all waits of the whole recording for it, as its samples do "
		                              "not say when they were:");
	else if (paths->slice_ns)
		report_document_say(
		        document,
		        "By all waits for it that ended in the slices of %s in which the incident "
		        "lies: of shorter times the samples do not tell.",
		        text_short_duration(width, paths->slice_ns));
	for (size_t i = 0; paths && i < paths->count; i++)
		tell_layers(document, report->ranking.primary, &paths->path[i]);
	if (paths)
		tell_chains(document, report);
	tell_held_up(document, report);
}

/* --- signals of the host ------------------------------------------------------------------------------------ */

static void rate_text(char *text, const struct report_signal *signal, double value)
{
	if (!strncmp(signal->unit, "of ", 3))
		snprintf(text, CELL_BYTES, "%.1f %% %s", value * signal->scale * 100, signal->unit);
	else
		snprintf(text, CELL_BYTES, value * signal->scale < 1000 ? "%.3g %s" : "%.0f %s",
		         value * signal->scale, signal->unit);
}

static void tell_signal(struct report_document *document, const struct report *report,
                        const struct report_signal *signal, const struct report_cause *seen)
{
	char name[CELL_BYTES], before[CELL_BYTES], during[CELL_BYTES], found[CELL_BYTES];

	snprintf(name, sizeof(name), "%s%s%s", signal->what, *seen->device ? " of " : "", seen->device);
	rate_text(before, signal, seen->before);
	rate_text(during, signal, seen->during);
	if (seen->before_unknown)
		snprintf(before, sizeof(before), "-");
	if (seen->before_unknown)
		snprintf(found, sizeof(found), "not in the baseline");
	else if (report->ranking.mode != REPORT_SPIKE)
		snprintf(found, sizeof(found), "-");
	else
		snprintf(found, sizeof(found), "%s (%.1f sigmas, correlation %.2f)",
		         report_signal_found(report, seen) ? "found" : "not found", seen->z,
		         seen->correlation);
	report_document_row(document, (const char *[]){ name, before, during, found, NULL });
}

static void tell_without_lane(struct report_document *document, const struct report *report,
                              const struct report_signal *signal)
{
	char found[CELL_BYTES], zero[CELL_BYTES];
	struct stamp_hook hook;

	if (!report_signal_hook(report, signal->name, &hook)) {
		report_document_row(document,
		                    (const char *[]){ signal->what, "-", "-", "not recorded", NULL });
	} else if (hook.state != HOOK_ATTACHED) {
		snprintf(found, sizeof(found), "not readable: %s", hook.reason);
		report_document_row(document, (const char *[]){ signal->what, "-", "-", found, NULL });
	} else {
		rate_text(zero, signal, 0);
		report_document_row(document,
		                    (const char *[]){ signal->what, zero, zero, "not found", NULL });
	}
}

void report_evidence_signals(struct report_document *document, const struct report *report)
{
	const struct report_ranking *ranking = &report->ranking;

	report_document_section(document, "Secondary signals: what else was looked for");
	report_document_table(document, (const char *[]){ "signal of the host",
	                                                  ranking->mode == REPORT_SPIKE ? "before" : "median",
	                                                  ranking->mode == REPORT_SPIKE ? "during" : "mean",
	                                                  "found?", NULL });
	for (size_t i = 0; i < report_signal_count; i++) {
		bool any = false;

		for (size_t s = 0; s < ranking->signal_count; s++)
			if (!strcmp(ranking->signals[s].name, report_signals[i].name)) {
				any = true;
				tell_signal(document, report, &report_signals[i], &ranking->signals[s]);
			}
		if (!any)
			tell_without_lane(document, report, &report_signals[i]);
	}
}

/* --- hooks -------------------------------------------------------------------------------------------------- */

static bool was_found(const struct report *report, const char *cause)
{
	for (size_t i = 0; i < ledger_count(report->input->ledger); i++) {
		const struct ledger_row *row = ledger_at(report->input->ledger, i);

		if (row && row->state == LEDGER_STALL && row->ns && !strcmp(row->cause, cause))
			return true;
	}
	return false;
}

static bool is_told(const struct report *report, size_t upto, const char *cause)
{
	for (size_t i = 0; i < upto; i++)
		if (!strcmp(stamp_hook_at(report->input->stamp, i).cause, cause))
			return true;
	return false;
}

void report_evidence_hooks(struct report_document *document, const struct report *report)
{
	const struct stamp *stamp = report->input->stamp;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool any = false;

	for (size_t i = 0; out && i < stamp_hook_count(stamp); i++) {
		struct stamp_hook hook = stamp_hook_at(stamp, i);

		if (hook.state != HOOK_ATTACHED ||
		    report_family_of(TIMELINE_STALL, hook.cause) == FAMILY_UNKNOWN ||
		    is_told(report, i, hook.cause) || was_found(report, hook.cause))
			continue;
		fprintf(out, "%s%s", any ? ", " : "", hook.cause);
		any = true;
	}
	if (out)
		fclose(out);
	if (any && text)
		report_document_say(document, "Stalls that were looked for, 0 ns of which were found: %s.",
		                    text);
	free(text);
}

/* --- what could not be seen --------------------------------------------------------------------------------- */

char *report_unseen_text(const struct report *report)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	top_text_losses(out, report->input, 0);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

void report_evidence_unseen(struct report_document *document, const struct report *report)
{
	char *text = report_unseen_text(report), *line, *rest;

	report_document_section(document, "What could not be seen");
	if (text && !*text)
		report_document_say(document, "The recording says that it lost nothing.");
	for (line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
		report_document_point(document, "%s", line);
	free(text);
	report_document_point(document, "Threads without a tag.");
}
