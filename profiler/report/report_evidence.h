/* The parts of a report that are evidence: the way from the tag to the cause, GPUs, what else was looked for, and what
 * could not be seen. Each adds a section, or sentences, to the document. */
#ifndef STALLPROF_PROFILER_REPORT_EVIDENCE_H
#define STALLPROF_PROFILER_REPORT_EVIDENCE_H

#include <stdbool.h>

#include "profiler/report/report_document.h"

struct report;
struct stamp_hook;

void report_evidence_gpus(struct report_document *document, const struct report *report);
void report_evidence_path(struct report_document *document, const struct report *report);
void report_evidence_signals(struct report_document *document, const struct report *report);
/* The causes that were looked for without finding any. */
void report_evidence_hooks(struct report_document *document, const struct report *report);
void report_evidence_unseen(struct report_document *document, const struct report *report);

/* What the stamp says of reading a signal of the host. False: nothing. */
bool report_signal_hook(const struct report *report, const char *signal, struct stamp_hook *hook);

/* What was not seen, a line for each loss; "": nothing is known to be lost. The caller frees it; NULL without memory. */
char *report_unseen_text(const struct report *report);

#endif
