/* A report's verdict: what was noticed, what caused it, who waited for that, and what else took long. */
#ifndef STALLPROF_PROFILER_REPORT_VERDICT_H
#define STALLPROF_PROFILER_REPORT_VERDICT_H

struct report;

/* In a sentence or a few. The caller frees it; NULL without memory. */
char *report_verdict_text(const struct report *report);

#endif
