/*
 * Prometheus' text format, version 0.0.4:
 *
 *     # HELP stallprof_stalls_total Waits that were stalls.
 *     # TYPE stallprof_stalls_total counter
 *     stallprof_stalls_total{ai_tag="load",stall="block_io",device="vda"} 12
 *
 * https://prometheus.io/docs/instrumenting/exposition_formats/. What is written is checked by whoever closes `out`.
 */
#ifndef STALLPROF_PROFILER_SCRAPE_TEXT_H
#define STALLPROF_PROFILER_SCRAPE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SCRAPE_TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Of a value of a label, with the NUL. */
#define SCRAPE_VALUE_MAX 320

struct scrape_label {
	const char *name, *value;
};

/* Begins a metric; `type` is counter or gauge. Its samples follow, and those of no other in between. */
void scrape_text_metric(FILE *out, const char *name, const char *type, const char *help);

/* One sample, a whole number. `value` of a label: any bytes, see scrape_text_clean(). */
void scrape_text_number(FILE *out, const char *name, const struct scrape_label *labels, size_t n,
                        uint64_t number);
/* One sample, nanoseconds as seconds: with nine digits behind the point, so that nothing is rounded. */
void scrape_text_seconds(FILE *out, const char *name, const struct scrape_label *labels, size_t n,
                         int64_t ns);

/*
 * Makes a value of a label of bytes that another process chose: control characters and what is not UTF-8 become
 * \xHH, and what does not fit is cut off, between two characters. So two texts may have the same value: whoever makes
 * series of them sums what has equal values, as no series may stand twice.
 */
void scrape_text_clean(const char *text, char value[SCRAPE_VALUE_MAX]);

#endif
