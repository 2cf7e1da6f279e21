/* Puts into words what the loop lost and waited for. */

#include "profiler/report/report_loop_text.h"

#include <stdint.h>
#include <string.h>

#include "profiler/format/saturating.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_classes.h"
#include "profiler/report/report_chain.h"
#include "profiler/report/report_primary.h"
#include "profiler/top/top_inherited_text.h"

#define CELL_BYTES 256

/* Whether the verdict has said already for what that class waited through others. */
static bool chain_is_told(const struct report *report, const char *class)
{
	const struct report_chains *chains = report->paths ? &report->paths->chains : NULL;

	return report->ranking.primary && chains && chains->count && !strcmp(chains->chain[0].class, class);
}

/* From which part of the loop's time on it is told what it lost. */
#define LOOP_LEAST 0.05

static int64_t loop_wall_ns(const struct report *report)
{
	int64_t ns = 0;

	for (size_t i = 0; i < report->classes.count; i++)
		if (report_loop_has(&report->loop, report->classes.rows[i].name))
			ns = saturating_add(ns, report->classes.rows[i].wall_ns);
	return ns;
}

/* The column that took most of what the class lost. */
static size_t worst_column(const struct loaded_classes *classes, const struct loaded_class *row)
{
	size_t worst = 1; /* the first is the time on a CPU */

	for (size_t i = 2; i < classes->column_count; i++)
		if (row->ns[i] > row->ns[worst])
			worst = i;
	return worst;
}

void report_loop_lost_text(FILE *out, const struct report *report)
{
	const struct loaded_classes *classes = &report->classes;
	double wall_ns = (double)loop_wall_ns(report);
	char lost[TEXT_DURATION_BYTES], most[TEXT_DURATION_BYTES];
	int64_t first_ns = 0;
	size_t told = 0;

	/* The one that lost most comes first. */
	for (size_t i = 0; i < classes->count && told < 2; i++) {
		const struct loaded_class *row = &classes->rows[i];
		size_t column = worst_column(classes, row);

		if (!report_loop_has(&report->loop, row->name))
			continue;
		if ((double)row->lost_ns < LOOP_LEAST * wall_ns || row->lost_ns <= 0 ||
		    row->lost_ns < first_ns / 2)
			break;
		fprintf(out,
		        told ? "; then %s: %s (%.1f %%), of it %s %s"
		             : " Of the loop's time %s lost most: %s off the CPU (%.1f %%), of it %s %s",
		        row->name, text_short_duration(lost, (uint64_t)row->lost_ns),
		        100 * (double)row->lost_ns / wall_ns,
		        text_short_duration(most, (uint64_t)row->ns[column]), classes->columns[column]);
		first_ns = told++ ? first_ns : row->lost_ns;
	}
	if (told)
		fputc('.', out);
}

void report_loop_wait_text(FILE *out, const struct report *report)
{
	const struct report_wait *wait = &report->wait;
	char blocked[TEXT_DURATION_BYTES], there[TEXT_DURATION_BYTES], ended[CELL_BYTES];

	top_waker_text(ended, sizeof(ended), &report->wakers, wait->waker, wait->waker_ns, wait->line_ns,
	               true);
	fprintf(out, " %s%s was blocked for %s without a stall, %.1f %% of the loop's time",
	        report->ranking.mode == REPORT_SPIKE ? "In the whole recording " : "", wait->class,
	        text_short_duration(blocked, (uint64_t)wait->ns), 100 * wait->share);
	if (*wait->line)
		fprintf(out, ": for %s of it by %s%s%s%s, %sat %s",
		        text_short_duration(there, (uint64_t)wait->line_ns), wait->kind,
		        wait->gil ? " (the GIL)" : "", *ended ? ", " : "", ended,
		        wait->gil ? "for example " : "", wait->line);
	fputc('.', out);
	if (wait->chain.ns > 0 && !chain_is_told(report, wait->class)) {
		fprintf(out, " %s of that: ", text_short_duration(there, (uint64_t)wait->chain.ns));
		report_chain_text(out, &wait->chain);
		fputc('.', out);
	}
}

bool report_loop_tells_waits(const struct report *report)
{
	return report->wait.class && (report->ranking.mode != REPORT_SPIKE ||
	                              (double)report->wait.ns > report_incident_ns(&report->ranking));
}
