/*
 * The answer to /metrics: the sums of all windows, what became of them, and which hooks are attached, in Prometheus'
 * text format. docs/stallprof.1 lists the metrics.
 */
#ifndef STALLPROF_PROFILER_SCRAPE_METRICS_H
#define STALLPROF_PROFILER_SCRAPE_METRICS_H

#include <stdint.h>

#include "profiler/output/sink.h"

struct scrape_bytes;
struct scrape_sums;

/* What is not in the windows themselves. */
struct scrape_facts {
	const char *service_name;
	struct sink_counts counts; /* of all sinks of the run */
	uint64_t failed;           /* windows that are not, or not all, in the sums or profiles */
	uint64_t missed;           /* windows of a series that were gone when a reader came for them */
};

/* NULL: no memory. */
struct scrape_bytes *scrape_metrics_make(struct scrape_sums *sums, const struct scrape_facts *facts);

#endif
