/* Sentences of what the whole recording's loop lost, and what it waited for that is no stall, each with a space before it. */
#ifndef STALLPROF_PROFILER_REPORT_LOOP_TEXT_H
#define STALLPROF_PROFILER_REPORT_LOOP_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "profiler/report/report.h"

/* Which of the loop's classes lost most, and which nearly as much; nothing where they lost little. */
void report_loop_lost_text(FILE *out, const struct report *report);

/* Whether the loop's waits that are no stalls are told: always, but for an incident that took more than they did. */
bool report_loop_tells_waits(const struct report *report);
void report_loop_wait_text(FILE *out, const struct report *report);

#endif
