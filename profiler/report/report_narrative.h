/* Puts a report into words: the document that is written as text, Markdown or HTML. */
#ifndef STALLPROF_PROFILER_REPORT_NARRATIVE_H
#define STALLPROF_PROFILER_REPORT_NARRATIVE_H

#include "profiler/report/report_document.h"

struct report;

/* Begins and fills the document, which report_document_end() frees; its `err` says whether memory was short. */
void report_narrate(struct report_document *document, const struct report *report);

#endif
