/*
 * When it was worse than usual: stretches of a series above three sigma of a baseline.
 *
 * The baseline is the quietest stretch of the series with threads, of a third of it or at least a second, or is given. Its
 * middle is the median and its spread the median distance from it, so that a few outliers in it do no harm. A stretch
 * is a spike if it lasts SPIKE_SHORTEST_NS, stands out by at least a tenth of a thread and of the baseline, and lost
 * 100 ms and one per cent of a thread's time; gaps up to SPIKE_GAP_NS belong to it.
 */
#ifndef STALLPROF_PROFILER_REPORT_SPIKES_H
#define STALLPROF_PROFILER_REPORT_SPIKES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/report/report_series.h"

#define REPORT_LEAST_SIGMA 0.02 /* threads; no baseline is quieter */
#define SPIKE_SIGMAS       3
#define SPIKE_SHORTEST_NS  200000000ULL
#define SPIKE_GAP_NS       400000000ULL

struct report_baseline {
	bool given; /* of another profile: from and to are 0 */
	size_t from, to;
	double median, sigma;
};

struct report_spike {
	size_t from, to;
	double mean, excess; /* above the baseline's median: per nanosecond, and times its nanoseconds */
	double z;            /* the mean's distance from the median in sigmas */
};

/* What a spread may not be below, as no two stretches are quite alike: a twentieth of the median, and `least`. */
double report_sigma_floor(double sigma, double median, double least);

/* `unrest`: what is least in the quietest stretch, of as many places as the series, which it may be itself. `there`: in which of
 * them the threads are there; NULL: in all. The others are in no baseline, and it may be shorter where they part the series. 0 or -ENOMEM. */
int report_baseline_find(struct report_baseline *baseline, const struct report_series *series,
                         const struct report_series *unrest, const bool *there);
/* Median and sigma of the series' places [from, to). 0 or -ENOMEM. */
int report_baseline_of(struct report_baseline *baseline, const struct report_series *series, size_t from,
                       size_t to, double least_sigma);

/* `covered_ns`: how much of the series' time was recorded. *spikes: in order of time, the caller frees them. 0 or -ENOMEM. */
int report_spikes_find(struct report_spike **spikes, size_t *count, const struct report_series *series,
                       const struct report_baseline *baseline, double covered_ns);

#endif
