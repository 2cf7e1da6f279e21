/* The forms in which a report is written. */
#ifndef STALLPROF_PROFILER_REPORT_FORMS_H
#define STALLPROF_PROFILER_REPORT_FORMS_H

#include <stdbool.h>
#include <stdio.h>

struct report;

enum report_format { REPORT_TEXT, REPORT_MARKDOWN, REPORT_JSON, REPORT_HTML, REPORT_FORMATS };

/* 0, -EIO or -ENOMEM. */
int report_write(FILE *out, const struct report *report, enum report_format format);

/* text, markdown, json, html; false: none of them. */
bool report_format_parse(const char *name, enum report_format *format);
const char *report_format_name(enum report_format format);

#endif
