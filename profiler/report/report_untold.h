/*
 * What one of two profiles that are compared could not see: a stall whose hooks it was without, waits that it did not record, or that its
 * ledger has and its timeline has not. That is no growth, and neither is it known to be none, so it counts on neither side.
 */
#ifndef STALLPROF_PROFILER_REPORT_UNTOLD_H
#define STALLPROF_PROFILER_REPORT_UNTOLD_H

#include <stdbool.h>
#include <stdio.h>

#include "profiler/report/report_view.h"

/* Of the lanes of lost time that one has and the other has not. The views are opened, and have no untold causes yet. */
void report_untold_find(struct report_untold *untold, const struct report_view *view,
                        const struct report_view *other);

/* Whether the profile says what a signal of the host was: it has it, or could read it and there was none. */
bool report_untold_tells_signal(const struct report_view *view, const char *signal);

/* Sentences, each behind a blank; nothing where there are none. */
void report_untold_text(FILE *out, const struct report_untold *untold);

#endif
