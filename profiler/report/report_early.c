/* Finds the part at the begin in which steps came fast. */

#include "profiler/report/report_early.h"

#include <errno.h>
#include <stdlib.h>

#define EARLY_PARTS  3   /* of the run: it ends in the first of these */
#define EARLY_FASTER 1.5 /* than steps come in the middle of what is later */

/* How long it is at least, as a few steps are fast by chance: */
#define EARLY_NS    5000000000ULL
#define EARLY_STEPS 10 /* at the run's mean rate, */
#define EARLY_SHARE 60 /* and one in so many of the run */

/* In places; 0: there are no steps. */
static size_t shortest(const struct report_series *steps)
{
	double mean = report_mean(steps->v, steps->n) * (double)steps->step_ns;
	size_t by_time = (size_t)(EARLY_NS / steps->step_ns), by_run = steps->n / EARLY_SHARE, by_steps;

	if (mean <= 0)
		return 0;
	by_steps = (size_t)(EARLY_STEPS / mean) + 1;
	by_time = by_time > by_run ? by_time : by_run;
	return by_time > by_steps ? by_time : by_steps;
}

static size_t fastest(const struct report_series *steps, size_t end)
{
	size_t best = 0;

	for (size_t i = 1; i < end; i++)
		if (steps->v[i] > steps->v[best])
			best = i;
	return best;
}

/* The stretch around the place in which steps came faster than the bound; false where others lie elsewhere. */
static bool stretch_above(const struct report_series *steps, double bound, size_t at, size_t *from,
                          size_t *to)
{
	size_t above = 0;

	for (*from = at; *from > 0 && steps->v[*from - 1] > bound;)
		--*from;
	for (*to = at; *to < steps->n && steps->v[*to] > bound;)
		++*to;
	for (size_t i = 0; i < steps->n; i++)
		above += steps->v[i] > bound;
	return above == *to - *from;
}

/* `steps`: smoothed over the shortest time of such a part. 1, 0 or -ENOMEM. */
static int find_fast(const struct report_series *steps, size_t least, size_t *from, size_t *to)
{
	size_t end = steps->n / EARLY_PARTS, at = fastest(steps, end), n = 0;
	double *some = calloc(steps->n, 2 * sizeof(*some)), later;

	if (!some)
		return -ENOMEM;
	for (size_t i = end; i < steps->n; i++)
		if (steps->v[i] > 0)
			some[n++] = steps->v[i];
	later = report_median(some, n, some + steps->n);
	free(some);
	/* Where most of what is later has no steps, it is something else. */
	return 2 * n >= steps->n - end && steps->v[at] >= EARLY_FASTER * later &&
	       stretch_above(steps, (steps->v[at] + later) / 2, at, from, to) && *to <= end &&
	       *to - *from >= least;
}

int report_early_find(struct report_baseline *baseline, const struct report_view *view,
                      const struct report_series *lost)
{
	struct report_series steps;
	size_t least, from = 0, to = 0;
	int found = report_view_sum(&steps, view, view->begin_ns, view->end_ns, lost->step_ns,
	                            report_view_is_steps, view->steps);

	if (found)
		return found == -ENOMEM ? found : 0;
	least = shortest(&steps);
	if (least && least < steps.n / EARLY_PARTS) {
		found = report_series_smooth(&steps, least / 2);
		if (!found)
			found = find_fast(&steps, least, &from, &to);
	}
	if (found > 0) {
		int err = report_baseline_of(baseline, lost, from, to, REPORT_LEAST_SIGMA);

		found = err ? err : 1;
	}
	report_series_free(&steps);
	return found;
}
