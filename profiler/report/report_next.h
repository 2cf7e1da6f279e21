/* What to do next: the same sentences in every form of a report. */
#ifndef STALLPROF_PROFILER_REPORT_NEXT_H
#define STALLPROF_PROFILER_REPORT_NEXT_H

#include "profiler/report/report_document.h"

struct report;

/* Adds a point for each. */
void report_next(struct report_document *document, const struct report *report);

#endif
