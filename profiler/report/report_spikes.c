/* Finds a baseline, and what stands out of it. */

#include "profiler/report/report_spikes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "symbolizer/base/growing_array.h"

#define LEAST_LOST_NS   1e8  /* 100 ms of a thread, */
#define LEAST_LOST_PART 0.01 /* and 1 % of the time of one, */
#define LEAST_LOST_MOST 1e10 /* but of no more than 10 s: a minute of eight hours stands out, too */
#define LEAST_EXCESS    0.1  /* threads, and share of the baseline */
#define QUIETEST_NS     1000000000ULL
#define PARTS_OF_SERIES 3

double report_sigma_floor(double sigma, double median, double least)
{
	double floor = median / 20 > least ? median / 20 : least;

	return sigma > floor ? sigma : floor;
}

int report_baseline_of(struct report_baseline *baseline, const struct report_series *series, size_t from,
                       size_t to, double least_sigma)
{
	double *scratch = calloc(to - from + 1, sizeof(*scratch));

	if (!scratch)
		return -ENOMEM;
	*baseline = (struct report_baseline){ .from = from, .to = to };
	baseline->median = report_median(series->v + from, to - from, scratch);
	baseline->sigma = report_sigma(series->v + from, to - from, baseline->median, scratch);
	baseline->sigma = report_sigma_floor(baseline->sigma, baseline->median, least_sigma);
	free(scratch);
	return 0;
}

/* How long the baseline is: a third of the places with threads, as far as so many are together. */
static size_t baseline_length(const struct report_series *series, const bool *there)
{
	size_t least = (size_t)(QUIETEST_NS / series->step_ns), all = 0, run = 0, longest = 0, length;

	for (size_t i = 0; i < series->n; i++) {
		run = !there || there[i] ? run + 1 : 0;
		all += run > 0;
		longest = run > longest ? run : longest;
	}
	length = all / PARTS_OF_SERIES;
	length = length < least ? least : length;
	length = length < 1 ? 1 : length;
	return length > longest ? longest : length;
}

int report_baseline_find(struct report_baseline *baseline, const struct report_series *series,
                         const struct report_series *unrest, const bool *there)
{
	size_t length = baseline_length(series, there), best = 0, run = 0;
	double sum = 0, lowest = INFINITY;

	for (size_t i = 0; i < series->n; i++) {
		run = !there || there[i] ? run + 1 : 0;
		sum = run ? sum + unrest->v[i] : 0;
		if (run > length)
			sum -= unrest->v[i - length];
		/* Of stretches that are alike the first. */
		if (run && run >= length && sum < lowest - 1e-9 * (double)length) {
			lowest = sum;
			best = i + 1 - length;
		}
	}
	return report_baseline_of(baseline, series, best, best + length, REPORT_LEAST_SIGMA);
}

/* Whether the stretch is worth telling. */
static bool measure(struct report_spike *spike, const struct report_series *series,
                    const struct report_baseline *baseline, double covered_ns)
{
	double above, least = baseline->median * LEAST_EXCESS;
	double part = LEAST_LOST_PART * covered_ns;

	spike->mean = report_mean(series->v + spike->from, spike->to - spike->from);
	above = spike->mean - baseline->median;
	spike->excess = above * (double)(spike->to - spike->from) * (double)series->step_ns;
	spike->z = above / baseline->sigma;
	return (spike->to - spike->from) * series->step_ns >= SPIKE_SHORTEST_NS && above >= LEAST_EXCESS &&
	       above >= least && spike->z >= SPIKE_SIGMAS && spike->excess >= LEAST_LOST_NS &&
	       spike->excess >= fmin(part, LEAST_LOST_MOST);
}

static int keep(struct report_spike **spikes, size_t *count, size_t *room, const struct report_spike *spike)
{
	int err =
	        growing_array_reserve((void **)spikes, *count + 1, room, sizeof(**spikes), REPORT_SERIES_MAX);

	if (!err)
		(*spikes)[(*count)++] = *spike;
	return err;
}

int report_spikes_find(struct report_spike **spikes, size_t *count, const struct report_series *series,
                       const struct report_baseline *baseline, double covered_ns)
{
	double bound = baseline->median + SPIKE_SIGMAS * baseline->sigma;
	size_t room = 0, gap = (size_t)(SPIKE_GAP_NS / series->step_ns);
	struct report_spike spike = { 0 };
	bool open = false;
	int err = 0;

	*spikes = NULL;
	*count = 0;
	for (size_t i = 0; i <= series->n && !err; i++) {
		bool above = i < series->n && series->v[i] > bound;

		if (above && !open)
			spike = (struct report_spike){ .from = i };
		if (above) {
			open = true;
			spike.to = i + 1;
		} else if (open && (i == series->n || i + 1 - spike.to > gap)) {
			open = false;
			if (measure(&spike, series, baseline, covered_ns))
				err = keep(spikes, count, &room, &spike);
		}
	}
	if (err)
		free(*spikes);
	return err == -EFBIG ? -ENOMEM : err;
}
