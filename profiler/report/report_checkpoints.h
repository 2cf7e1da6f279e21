/* The part of a report about checkpoint files that were written: was all of it written, in which order, and was it on the
 * device before the file had its name? */
#ifndef STALLPROF_PROFILER_REPORT_CHECKPOINTS_H
#define STALLPROF_PROFILER_REPORT_CHECKPOINTS_H

#include "profiler/report/report_document.h"

struct loaded_profiles;

/* Adds a section, unless the profiles know of no such file. Files with something wrong come first. */
void report_checkpoints(struct report_document *document, const struct loaded_profiles *input);

#endif
