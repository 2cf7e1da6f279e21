/* Writes a report as JSON, with its numbers. */
#ifndef STALLPROF_PROFILER_REPORT_JSON_H
#define STALLPROF_PROFILER_REPORT_JSON_H

#include <stdio.h>

struct report;

/* 0, -EIO or -ENOMEM. */
int report_write_json(FILE *out, const struct report *report);

#endif
