/* Writes all metrics. */

#include "profiler/scrape/scrape_metrics.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/loss_log.h"
#include "profiler/format/stamp.h"
#include "profiler/format/version.h"
#include "profiler/scrape/scrape_bytes.h"
#include "profiler/scrape/scrape_sums.h"
#include "profiler/scrape/scrape_text.h"

#define LABELS(...) ((const struct scrape_label[]){ __VA_ARGS__ })

/* --- the ledger ------------------------------------------------------------------------------------------- */

static void write_tag_seconds(void *out, const struct scrape_sum *sum)
{
	if (sum->of == SCRAPE_SUM_TAG)
		scrape_text_seconds(out, "stallprof_tag_seconds_total",
		                    LABELS({ "ai_tag", sum->ai_tag }, { "state", sum->state }), 2,
		                    sum->shown_ns);
}

static void write_undecided(void *out, const struct scrape_sum *sum)
{
	if (sum->of == SCRAPE_SUM_UNDECIDED)
		scrape_text_seconds(out, "stallprof_undecided_seconds", LABELS({ "ai_tag", sum->ai_tag }), 1,
		                    sum->ns);
}

#define STALL_LABELS(sum)                                                                                    \
	LABELS({ "ai_tag", (sum)->ai_tag }, { "stall", (sum)->stall }, { "device", (sum)->device })

static void write_stall_seconds(void *out, const struct scrape_sum *sum)
{
	if (sum->of == SCRAPE_SUM_STALL)
		scrape_text_seconds(out, "stallprof_stall_seconds_total", STALL_LABELS(sum), 3,
		                    sum->shown_ns);
}

static void write_stalls(void *out, const struct scrape_sum *sum)
{
	if (sum->of == SCRAPE_SUM_STALL)
		scrape_text_number(out, "stallprof_stalls_total", STALL_LABELS(sum), 3, sum->count);
}

static void write_ledger(FILE *out, struct scrape_sums *sums)
{
	scrape_text_metric(out, "stallprof_tag_seconds_total", "counter",
	                   "Time of the threads of a class of tags, by what they did.");
	scrape_sums_each(sums, write_tag_seconds, out);
	scrape_text_metric(out, "stallprof_undecided_seconds", "gauge",
	                   "Time in waits of which it is not known yet what they are for; in no counter.");
	scrape_sums_each(sums, write_undecided, out);
	scrape_text_metric(out, "stallprof_stall_seconds_total", "counter",
	                   "Time of stalls, by cause and device; as a whole in the state stall above.");
	scrape_sums_each(sums, write_stall_seconds, out);
	scrape_text_metric(out, "stallprof_stalls_total", "counter", "Waits that were stalls and are over.");
	scrape_sums_each(sums, write_stalls, out);
	scrape_text_metric(
	        out, "stallprof_held_back_seconds", "gauge",
	        "How much more the counter shows than there was, as waits turned out to be others: "
	        "it grows again once it has been caught up with.");
	scrape_text_seconds(out, "stallprof_held_back_seconds",
	                    LABELS({ "counter", "stallprof_tag_seconds_total" }), 1,
	                    scrape_sums_ahead(sums, SCRAPE_SUM_TAG));
	scrape_text_seconds(out, "stallprof_held_back_seconds",
	                    LABELS({ "counter", "stallprof_stall_seconds_total" }), 1,
	                    scrape_sums_ahead(sums, SCRAPE_SUM_STALL));
	scrape_text_metric(out, "stallprof_rows_refused_total", "counter",
	                   "Rows of windows that are summed as other, as there are too many sums.");
	scrape_text_number(out, "stallprof_rows_refused_total", NULL, 0, scrape_sums_refused(sums));
}

/* --- what was not seen ------------------------------------------------------------------------------------ */

/* All from the start: how much a counter grew is not seen of one that was not there before. */
static void write_losses(FILE *out, const struct stamp *stamp, const char *metric)
{
	const char *name;

	for (size_t i = 0; (name = loss_log_counter(i)); i++)
		scrape_text_number(out, metric, LABELS({ "name", name }), 1, stamp_counter(stamp, name));
}

static void write_counters(FILE *out, const struct stamp *stamp, const char *metric)
{
	for (size_t i = 0; i < stamp_counter_count(stamp); i++) {
		struct stamp_counter counter = stamp_counter_at(stamp, i);

		scrape_text_number(out, metric, LABELS({ "name", counter.name }), 1, counter.value);
	}
}

static void write_lost(FILE *out, const struct stamp *stamp)
{
	scrape_text_metric(out, "stallprof_lost_total", "counter",
	                   "What is missing from profiles, by the counter's name; COUNTERS in stallprof(1).");
	write_losses(out, stamp, "stallprof_lost_total");
	scrape_text_metric(out, "stallprof_counter_total", "counter",
	                   "All counters, those of how profiles were made, too; COUNTERS in stallprof(1).");
	write_counters(out, stamp, "stallprof_counter_total");
}

/* Whether a hook of that cause comes before. */
static bool was_told(const struct stamp *stamp, size_t before, const char *cause)
{
	for (size_t i = 0; i < before; i++)
		if (!strcmp(stamp_hook_at(stamp, i).cause, cause))
			return true;
	return false;
}

/* A cause whose hooks are all unused is left out: nothing is lost without it, and nothing is seen by it. */
static void write_hooks(FILE *out, const struct stamp *last)
{
	size_t n = last ? stamp_hook_count(last) : 0;

	scrape_text_metric(
	        out, "stallprof_hook_attached", "gauge",
	        "1: all hooks that a cause needs are attached while something is tagged; 0: one is "
	        "missing.");
	for (size_t i = 0; i < n; i++) {
		const char *cause = stamp_hook_at(last, i).cause;
		enum hook_state worst = HOOK_UNUSED;

		if (was_told(last, i, cause))
			continue;
		for (size_t j = i; j < n; j++) {
			struct stamp_hook hook = stamp_hook_at(last, j);

			if (!strcmp(hook.cause, cause) && hook.state > worst)
				worst = hook.state;
		}
		if (worst != HOOK_UNUSED)
			scrape_text_number(out, "stallprof_hook_attached", LABELS({ "cause", cause }), 1,
			                   worst == HOOK_ATTACHED);
	}
}

/* --- windows ---------------------------------------------------------------------------------------------- */

static void write_count(FILE *out, const char *name, const char *help, uint64_t count)
{
	scrape_text_metric(out, name, "counter", help);
	scrape_text_number(out, name, NULL, 0, count);
}

static void write_gauge(FILE *out, const char *name, const char *help, uint64_t value)
{
	scrape_text_metric(out, name, "gauge", help);
	scrape_text_number(out, name, NULL, 0, value);
}

/* `last` is the newest window's: when the clock was set back, it is not the latest one. NULL: there is none. */
static void write_windows(FILE *out, const struct stamp *stamp, const struct stamp *last,
                          const struct scrape_facts *facts)
{
	const struct sink_counts *counts = &facts->counts;
	const struct stamp_coverage covered = stamp_coverage(stamp);

	write_count(out, "stallprof_windows_total",
	            "Windows that are in these metrics, with tags and without.", covered.windows);
	scrape_text_metric(out, "stallprof_covered_seconds_total", "counter", "Time that they covered.");
	scrape_text_seconds(out, "stallprof_covered_seconds_total", NULL, 0, (int64_t)covered.covered_ns);
	scrape_text_metric(out, "stallprof_last_window_timestamp_seconds", "gauge",
	                   "When the last one ended, in Unix time.");
	if (last)
		scrape_text_seconds(out, "stallprof_last_window_timestamp_seconds", NULL, 0,
		                    (int64_t)stamp_coverage(last).last_ns);
	write_count(out, "stallprof_windows_kept_total", "Windows with tags that were written to files.",
	            counts->kept);
	write_count(out, "stallprof_windows_not_kept_total", "Windows that could not be written.",
	            counts->not_kept);
	write_count(
	        out, "stallprof_series_pushed_total",
	        "Requests that Pyroscope took, one for each series of a window, or more where it is large.",
	        counts->pushed);
	write_count(out, "stallprof_windows_not_pushed_total",
	            "Windows that were not pushed, or not all of them.", counts->not_pushed);
	write_count(out, "stallprof_windows_set_aside_total",
	            "Those of them that the server fails at, though it takes others.", counts->set_aside);
	write_gauge(out, "stallprof_pushing_fails",
	            "1: the last try to push failed, or a part of the window was refused; 0: it did not.",
	            counts->pushing_fails);
	write_gauge(out, "stallprof_windows_waiting", "Windows that are still to be pushed or written.",
	            counts->waiting);
	write_count(out, "stallprof_windows_not_scraped_total",
	            "Windows that are not, or not all, in these metrics and in /debug/pprof/, as they had no "
	            "room.",
	            facts->failed);
	write_count(out, "stallprof_windows_missed_total",
	            "Windows of a series that a reader of /debug/pprof/delta_ came too late for.",
	            facts->missed);
}

struct scrape_bytes *scrape_metrics_make(struct scrape_sums *sums, const struct scrape_facts *facts)
{
	char service_name[SCRAPE_VALUE_MAX];
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	bool failed;

	if (!out)
		return NULL;
	scrape_text_clean(facts->service_name, service_name);
	scrape_text_metric(out, "stallprof_build_info", "gauge", "Always 1.");
	scrape_text_number(out, "stallprof_build_info",
	                   LABELS({ "version", STALLPROF_VERSION }, { "service_name", service_name }), 2, 1);
	write_ledger(out, sums);
	write_windows(out, scrape_sums_stamp(sums), scrape_sums_last(sums), facts);
	write_lost(out, scrape_sums_stamp(sums));
	write_hooks(out, scrape_sums_last(sums));
	failed = ferror(out);
	if (!fclose(out) && !failed)
		return scrape_bytes_new(text, length);
	free(text);
	return NULL;
}
