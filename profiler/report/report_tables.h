/* The tables of a report: the causes in the order of their score, and the stretches that it is not about. */
#ifndef STALLPROF_PROFILER_REPORT_TABLES_H
#define STALLPROF_PROFILER_REPORT_TABLES_H

#include "profiler/report/report_document.h"
#include "profiler/report/report_ranking.h"

/* A section of its own, with why the primary cause is it. Nothing without causes. */
void report_table_causes(struct report_document *document, const struct report_ranking *ranking);
/* Nothing without others. */
void report_table_stretches(struct report_document *document, const struct report_ranking *ranking);

#endif
