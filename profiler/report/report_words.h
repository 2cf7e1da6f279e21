/* Times and causes as a report has them. Each returns `text`. */
#ifndef STALLPROF_PROFILER_REPORT_WORDS_H
#define STALLPROF_PROFILER_REPORT_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "profiler/format/text_cells.h"
#include "profiler/report/report_ranking.h"

#define REPORT_RATE_BYTES 24

const char *report_duration_text(char text[TEXT_DURATION_BYTES], double ns);
/* In UTC, with tenths of a second. */
const char *report_moment_text(char text[48], uint64_t unix_ns);
/* Steps a second, to a tenth, or to two digits where there are few. */
const char *report_rate_text(char text[REPORT_RATE_BYTES], double rate);
/* "block_io on vda" */
const char *report_cause_text(char *text, size_t size, const struct report_cause *cause);

#endif
