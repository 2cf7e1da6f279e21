/* Where `stallprof report` writes to: the form that the file's name asks for, and why it can't be written. */
#ifndef STALLPROF_PROFILER_REPORT_OUTPUT_H
#define STALLPROF_PROFILER_REPORT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/report/report_forms.h"

/* The ending of the path's last part, with its dot; "": it has none. */
const char *report_output_ending(const char *path);

/* By that ending; without one *format stays. False: the ending is of no form. */
bool report_output_format(const char *path, enum report_format *format);

/* Says in one line why the file could not be written, and what to do. `err`: an errno. */
void report_output_error(char *message, size_t size, const char *path, int err);

#endif
