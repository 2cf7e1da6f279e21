/* Puts the verdict into words. */

#include "profiler/report/report_verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/format/saturating.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report.h"
#include "profiler/report/report_away.h"
#include "profiler/report/report_causes.h"
#include "profiler/report/report_chain.h"
#include "profiler/report/report_evidence.h"
#include "profiler/report/report_loop_text.h"
#include "profiler/report/report_oncpu.h"
#include "profiler/report/report_primary.h"
#include "profiler/report/report_untold.h"
#include "profiler/report/report_words.h"

#define CELL_BYTES   256
#define STEPS_DIFFER 0.05 /* of their rate, for them to have slowed down */

/* Whether the steps felt it, where that is known. */
static void steps_text(FILE *out, const struct report_ranking *ranking)
{
	double before = ranking->steps_before, during = ranking->steps_during;
	char now[REPORT_RATE_BYTES], usual[REPORT_RATE_BYTES];

	if (before < 0 || during < 0)
		return;
	if (before <= 0 && during > 0)
		fprintf(out, ", and %s came %s times a second, not once before", ranking->steps,
		        report_rate_text(now, during));
	else if (fabs(during - before) < STEPS_DIFFER * before)
		fprintf(out, "; %s came as often as before", ranking->steps);
	else
		fprintf(out, ", and %s came %s times a second instead of %s", ranking->steps,
		        report_rate_text(now, during), report_rate_text(usual, before));
}

/* What was noticed, and when. */
static void incident_text(FILE *out, const struct report_ranking *ranking)
{
	char at[48], length[TEXT_DURATION_BYTES], now[REPORT_RATE_BYTES], usual[REPORT_RATE_BYTES];

	fprintf(out, "From %s on, for %s%s, ", report_moment_text(at, ranking->begin_ns),
	        report_duration_text(length, (double)(ranking->end_ns - ranking->begin_ns)),
	        ranking->goes_on ? " so far" : "");
	/* As it was seen while it went on; since then another class may be that of the steps, which was not there before. */
	if (ranking->by_steps && ranking->steps_before > 0 && ranking->steps_during >= 0) {
		fprintf(out,
		        "%s came %s times a second instead of %s; the time that tagged threads lost %s "
		        "(%.2f threads, usually %.2f). ",
		        ranking->steps, report_rate_text(now, ranking->steps_during),
		        report_rate_text(usual, ranking->steps_before),
		        ranking->incident.z < -1              ? "went down"
		        : ranking->incident.z >= SPIKE_SIGMAS ? "grew"
		                                              : "did not stand out",
		        ranking->during, ranking->before);
		return;
	}
	if (ranking->by_fault) {
		fprintf(out,
		        "requests waited for a device's recovery; the time that tagged threads lost did not "
		        "stand "
		        "out (%.2f threads, usually %.2f). ",
		        ranking->during, ranking->before);
		return;
	}
	fprintf(out, "tagged threads lost %.2f threads' time instead of %.2f", ranking->during,
	        ranking->before);
	steps_text(out, ranking);
	fputs(". ", out);
}

/* Who waited for the primary cause through others, or for what others waited. */
static void inherited_text(FILE *out, const struct report *report)
{
	const struct report_chain *chain = report->paths ? report->paths->chains.chain : NULL;
	char time[TEXT_DURATION_BYTES];

	if (!chain || !report->paths->chains.count)
		return;
	if (report->ranking.primary->kind == TIMELINE_BLOCKED)
		fprintf(out, "; %s of it: ", text_short_duration(time, (uint64_t)chain->ns));
	else
		fprintf(out, "; %s waited %s for it through others, most of it ", chain->class,
		        text_short_duration(time, (uint64_t)report->paths->chains.first_ns));
	report_chain_text(out, chain);
}

#define MUCH_WAITED 0.2 /* threads: of less than that nobody would say that they wait */

static void no_cause_text(FILE *out, const struct report_ranking *ranking)
{
	bool waited = ranking->during >= MUCH_WAITED;

	if (!ranking->by_steps) {
		fputs("No single cause took much of it.", out);
		return;
	}
	fputs(waited ? "No wait grew beyond what threads waited before it, too: " : "No wait grew: ", out);
	if (ranking->oncpu.class)
		report_oncpu_text(out, ranking);
	else if (!waited)
		fputs("the threads ran longer themselves", out);
	if (ranking->oncpu.class) /* without what it spun */
		fputs(", with more to do, or on slower CPUs.", out);
	else if (!waited)
		fputs(", with more to do, on slower CPUs, or spinning for a GPU or other ranks.", out);
	else
		fputs("compare it with a run that was well (--baseline).", out);
}

static void spike_verdict(FILE *out, const struct report *report)
{
	const struct report_ranking *ranking = &report->ranking;
	const struct report_cause *primary = ranking->primary, *told = report_telling_signal(report);
	char text[CELL_BYTES];

	incident_text(out, ranking);
	if (!primary) {
		no_cause_text(out, ranking);
		return;
	}
	fprintf(out, "Verdict: %s. %s (%s) took %.0f %% of what grew", report->verdict,
	        report_cause_text(text, sizeof(text), primary),
	        report_cause_words(report_primary_name(report)), primary->share * 100);
	if (told)
		fprintf(out, ", and at the same time %s", report_signal_of(told->name)->verdict);
	else if (report_signals_silent(report))
		fputs(", though the host's own signals of the CPUs did not change with it: the job's own "
		      "threads "
		      "may have "
		      "been in each other's way",
		      out);
	if (report->user_count) {
		fputs("; meanwhile ", out);
		report_user_text(out, &report->users[0]);
	}
	if (report->paths && report->paths->count)
		fprintf(out, "; %s%s waited most, at %s",
		        report->paths->whole ? "in the whole recording " : "", report->paths->path[0].class,
		        report->paths->path[0].own);
	inherited_text(out, report);
	fputc('.', out);
	if (ranking->oncpu.class) {
		fputs(" Besides, ", out);
		report_oncpu_text(out, ranking);
		fputc('.', out);
	}
}

/* How much of what a cause took of a whole run: of all threads' time, or of the loop's where it took more of that. */
static void part_text(FILE *out, const struct report_cause *cause)
{
	bool loop = report_primary_of_loop(cause);

	fprintf(out, "%.1f %% of the %s", (loop ? cause->of_loop : cause->share) * 100,
	        loop ? "loop's time" : "tagged threads' wall time");
}

/* Of a run whose primary cause is a GPU's: that may be its own work, which hides what the loop loses elsewhere. */
static void gpu_text(FILE *out, const struct report_ranking *ranking)
{
	const struct report_cause *other = ranking->beside_gpu;
	char text[CELL_BYTES];

	if (report_primary_is_bound(ranking))
		fprintf(out, ", as it is where the GPU always has work%s",
		        ranking->baseline.given ? ""
		                                : ": whether it could be faster a run that was well tells "
		                                  "(--baseline)");
	if (!other)
		return;
	fprintf(out, ". Besides, %s (%s) took ", report_cause_text(text, sizeof(text), other),
	        report_cause_words(other->name));
	part_text(out, other);
}

/* Beside what the loop waits for. */
static void unfelt_text(FILE *out, const struct report_ranking *ranking)
{
	const struct report_cause *unfelt = ranking->unfelt;
	char text[CELL_BYTES];

	if (unfelt)
		fprintf(out,
		        ". Besides, %s (%s) took %.1f %% of the tagged threads' wall time, but cost the loop "
		        "%.1f %% of its time at most",
		        report_cause_text(text, sizeof(text), unfelt), report_cause_words(unfelt->name),
		        unfelt->share * 100, unfelt->felt * 100);
}

static void steady_verdict(FILE *out, const struct report *report)
{
	const struct report_cause *primary = report->ranking.primary;
	char text[CELL_BYTES];

	fprintf(out, "%s. Verdict: %s%s. %s (%s) took ",
	        report->ranking.steps_left_out ? "Steps came more slowly for a while, which no wait "
	                                         "explains; this was so all the time"
	        : report->ranking.baseline.given
	                ? "Nothing stands out of the baseline"
	                : "Nothing stands out in time: it was like this all the time",
	        report->verdict,
	        report_primary_is_wait(&report->ranking) && !report_primary_as_baseline(&report->ranking)
	                ? ", which need not be a fault"
	                : "",
	        report_cause_text(text, sizeof(text), primary),
	        report_cause_words(report_primary_name(report)));
	if (report_primary_is_wait(&report->ranking))
		fprintf(out, "%.1f %% of the loop's time", primary->of_loop * 100);
	else
		part_text(out, primary);
	if (report->ranking.share_there >= 0)
		fprintf(out, ", in the baseline %.1f %%", report->ranking.share_there * 100);
	inherited_text(out, report);
	gpu_text(out, &report->ranking);
	unfelt_text(out, &report->ranking);
	fputc('.', out);
}

/* What took far more than the incident, but all the time. */
static void whole_text(FILE *out, const struct report_ranking *ranking)
{
	const struct report_cause *whole = &ranking->whole;
	char text[CELL_BYTES], time[TEXT_DURATION_BYTES];

	if (!whole->name)
		return;
	fprintf(out, " In the whole recording %s", report_cause_text(text, sizeof(text), whole));
	if (!ranking->primary || !report_cause_same(whole, ranking->primary))
		fprintf(out, " (%s)", report_cause_words(whole->name));
	fprintf(out, " took %s, %.1f %% of the tagged threads' wall time%s.",
	        text_computed_duration(time, whole->excess_ns), whole->share * 100,
	        ranking->whole_is_usual ? ": most of that is usual here" : "");
}

/* Who used what took so much, where it is not known that they used more of it than before. */
static void users_text(FILE *out, const struct report *report)
{
	if (!report->whole_users.count)
		return;
	fputs(report->ranking.mode == REPORT_SPIKE && !report->ranking.whole.name ? " In the whole recording "
	                                                                          : " ",
	      out);
	loaded_users_text(out, &report->whole_users);
	fputc('.', out);
}

/* Whether there are tags that the ranking does not look at: those of processes, where some are pushed. */
static bool has_left_out(const struct report *report)
{
	bool base = false, pushed = false;

	for (size_t i = 0; i < report->classes.count; i++) {
		base |= report->classes.rows[i].base;
		pushed |= !report->classes.rows[i].base;
	}
	return base && pushed;
}

#define UNJUDGED_LEAST 0.05 /* of the threads' time */

/* The part of the threads' time that nobody judges: where nothing pushes tags each thread of a process waits under its tag, those that
 * idle, too. What sleeps for a time does as it was told. 0: tags are pushed, or they waited little. */
static double unjudged_part(const struct report *report)
{
	double wall = 0, blocked = 0;

	for (size_t i = 0; i < ledger_count(report->input->ledger); i++) {
		const struct ledger_row *row = ledger_at(report->input->ledger, i);

		if (!row->base)
			return 0;
		wall += (double)row->ns;
		if (row->state == LEDGER_BLOCKED && strcmp(row->cause, "sleep") != 0 &&
		    strcmp(row->cause, "stopped") != 0)
			blocked += (double)row->ns;
	}
	return wall > 0 && blocked >= UNJUDGED_LEAST * wall ? blocked / wall : 0;
}

/* No stretch stands out, and nothing that could be to blame took much of the time. */
static void nothing_verdict(FILE *out, const struct report *report, bool waits)
{
	const struct report_cause *wait = report_primary_wait(&report->ranking);
	const struct report_cause *unfelt = report->ranking.unfelt;
	double unjudged = unjudged_part(report);
	char text[CELL_BYTES];

	fprintf(out,
	        "%s: no stretch of time stands out by three sigma, and no %s takes 5 %% of the tagged "
	        "threads' wall time%s%s",
	        waits || wait || unjudged > 0 ? "No stall is to blame" : "Nothing is wrong",
	        wait || unjudged > 0 ? "stall or wait for a CPU" : "cause",
	        has_left_out(report)
	                ? " (that of the processes' own tags is left out, as threads push others)"
	                : "",
	        report->ranking.count || unjudged > 0 ? "" : " (no time was lost at all)");
	if (unfelt)
		fprintf(out, ", but %s (%.1f %%), which cost the loop %.1f %% of its time at most",
		        report_cause_text(text, sizeof(text), unfelt), unfelt->share * 100,
		        unfelt->felt * 100);
	if (wait)
		fprintf(out, "; %s (%s) took %.1f %% of it", report_cause_text(text, sizeof(text), wait),
		        report_cause_words(wait->name), wait->share * 100);
	if (unjudged > 0)
		fprintf(out,
		        ". %.0f %% of their time the threads waited for each other and for peers: that is "
		        "not judged, as nothing pushes tags, and threads that idle wait, too",
		        100 * unjudged);
	fputc('.', out);
}

static void no_verdict(FILE *out, const struct report *report, bool waits)
{
	if (!report->has_timeline && stamp_coverage(report->input->stamp).windows && !report->classes.count)
		fputs("Nothing was tagged while this was recorded: no thread held a tag.", out);
	else if (!report->has_timeline)
		fputs("Nothing can be said of when: the profile has no timeline, as another program or an "
		      "older stallprof "
		      "wrote it. See stallprof top.",
		      out);
	else
		nothing_verdict(out, report, waits);
}

static int64_t sum_of(const struct report *report, size_t column)
{
	int64_t ns = 0;

	for (size_t i = 0; i < report->classes.count; i++)
		ns = saturating_add(ns, report->classes.rows[i].ns[column]);
	return ns;
}

/* Each that is not the primary cause. */
static void faults_text(FILE *out, const struct report *report)
{
	const struct report_cause *primary = report->ranking.primary;
	char length[TEXT_DURATION_BYTES];

	for (size_t i = 0; i < report->classes.column_count; i++) {
		const char *name = report->classes.columns[i];
		int64_t ns = report_is_fault(name) ? sum_of(report, i) : 0;

		if (ns > 0 && (!primary || strcmp(primary->name, name) != 0))
			fprintf(out, " Besides, %s took %s in the whole recording.", name,
			        text_short_duration(length, (uint64_t)ns));
	}
}

/* Of lanes without room nobody knows whether they stand out. */
static void full_text(FILE *out, const struct report *report)
{
	size_t lanes = timeline_refused(report->input->timeline);
	uint64_t values = stamp_counter(report->input->stamp, "timeline_refused");

	if (lanes)
		fprintf(out, " The timeline was full, and %zu of its lanes are left out: ", lanes);
	else if (values)
		fprintf(out, " The timeline was full, and %" PRIu64 " values are not on it: ", values);
	if (lanes || values)
		fputs("what is said here of when is not of all threads.", out);
}

char *report_verdict_text(const struct report *report)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool waits = report_loop_tells_waits(report);

	if (!out)
		return NULL;
	if (report->has_timeline && report->ranking.mode == REPORT_SPIKE)
		spike_verdict(out, report);
	else if (report->has_timeline && report->ranking.mode == REPORT_STEADY)
		steady_verdict(out, report);
	else
		no_verdict(out, report, waits);
	if (report->has_timeline)
		full_text(out, report);
	loaded_overlaps_text(out, &report->input->overlaps, " ", "");
	if (report->ranking.untold)
		report_untold_text(out, report->ranking.untold);
	whole_text(out, &report->ranking);
	users_text(out, report);
	report_loop_lost_text(out, report);
	if (waits)
		report_loop_wait_text(out, report);
	if (report->has_timeline)
		faults_text(out, report);
	if (report->jobs.n) {
		fputc(' ', out);
		report_jobs_text(out, &report->jobs, report->steps->name);
		fputc('.', out);
	}
	if (report->ranking.away.ns) {
		fputc(' ', out);
		report_away_text(out, &report->ranking.away);
		fputc('.', out);
	}
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}
