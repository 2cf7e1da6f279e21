/* Writes the tables of causes and of stretches. */

#include "profiler/report/report_tables.h"

#include <stdbool.h>
#include <stdio.h>

#include "profiler/report/report_primary.h"
#include "profiler/report/report_words.h"

#define CAUSES_SHOWN 6
#define CELL_BYTES   256

void report_table_stretches(struct report_document *document, const struct report_ranking *ranking)
{
	const struct report_series *symptom = &ranking->symptom;
	char cell[4][CELL_BYTES], at[48], time[TEXT_DURATION_BYTES];

	if (!ranking->stretch_count)
		return;
	report_document_table(
	        document, (const char *[]){ "the others: from", "for", "lost more", "primary cause", NULL });
	for (size_t i = 0; i < ranking->stretch_count; i++) {
		const struct report_stretch *stretch = &ranking->stretches[i];
		const struct report_spike *spike = &stretch->spike;

		if (!stretch->looked_into || stretch->in_incident)
			continue;
		snprintf(cell[0], CELL_BYTES, "%s", report_moment_text(at, stretch->begin_ns));
		snprintf(cell[1], CELL_BYTES, "%s",
		         report_duration_text(time, (double)((spike->to - spike->from) * symptom->step_ns)));
		snprintf(cell[2], CELL_BYTES, "%s", report_duration_text(time, spike->excess));
		snprintf(cell[3], CELL_BYTES, "%s%s%s", stretch->name ? stretch->name : "none",
		         stretch->name && *stretch->device ? " on " : "",
		         stretch->name ? stretch->device : "");
		report_document_row(document, (const char *[]){ cell[0], cell[1], cell[2], cell[3], NULL });
	}
}

/* Where others have a higher score. */
static void tell_why_primary(struct report_document *document, const struct report_ranking *ranking)
{
	char name[CELL_BYTES];

	for (size_t i = 0; i < ranking->count && i < CAUSES_SHOWN; i++) {
		const struct report_cause *cause = &ranking->causes[i];
		const char *why = report_primary_why_not(ranking, cause);

		if (*why)
			report_document_say(document,
			                    "%s has a higher score, but is not the primary cause, as %s.",
			                    report_cause_text(name, sizeof(name), cause), why);
	}
}

void report_table_causes(struct report_document *document, const struct report_ranking *ranking)
{
	bool spike = ranking->mode == REPORT_SPIKE;
	char cell[7][CELL_BYTES], name[CELL_BYTES - 16];

	if (!ranking->count)
		return;
	report_document_section(document, "Ranking");
	report_document_table(document, (const char *[]){ "cause", "score", "spike", "correlation", "lag ms",
	                                                  spike ? "lost more" : "lost", "share", NULL });
	for (size_t i = 0; i < ranking->count; i++) {
		const struct report_cause *cause = &ranking->causes[i];
		char time[TEXT_DURATION_BYTES];

		if (i >= CAUSES_SHOWN && cause != ranking->primary)
			continue;
		snprintf(cell[0], CELL_BYTES, "%s%s", report_cause_text(name, sizeof(name), cause),
		         cause == ranking->primary ? " (primary)" : "");
		snprintf(cell[1], CELL_BYTES, "%.2f", cause->score);
		snprintf(cell[2], CELL_BYTES, spike ? "%.2f" : "-", cause->spike);
		snprintf(cell[3], CELL_BYTES, spike ? "%.2f" : "-", cause->correlation);
		snprintf(cell[4], CELL_BYTES, spike ? "%ld" : "-", cause->lag_ms);
		snprintf(cell[5], CELL_BYTES, "%s", report_duration_text(time, cause->excess_ns));
		snprintf(cell[6], CELL_BYTES, "%.0f %%", cause->share > 0 ? cause->share * 100 : 0);
		report_document_row(document, (const char *[]){ cell[0], cell[1], cell[2], cell[3], cell[4],
		                                                cell[5], cell[6], NULL });
	}
	tell_why_primary(document, ranking);
	if (spike)
		report_document_say(
		        document,
		        "Score: half how far it stands out of its own baseline (z / (z + 3)), half its "
		        "correlation with the lost time at 100 Hz, up to 200 ms apart. Waits for "
		        "other threads come after what those did.");
	else
		report_document_say(document, "By the share of the tagged threads' wall time, or of the "
		                              "loop's where that is more, as no "
		                              "stretch stands out.");
}
