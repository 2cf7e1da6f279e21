/* Finds the class whose time on a CPU grew for each step. */

#include "profiler/report/report_oncpu.h"

#include <errno.h>
#include <string.h>

#include "profiler/report/report_words.h"

#define LEAST_ALONE  0.15 /* of the time by which a step took longer, */
#define LEAST_BESIDE 0.5  /* and beside a primary cause */

static bool is_work(const struct report_view *view, const struct timeline_lane *lane, const void *class)
{
	return lane->kind == TIMELINE_ONCPU && !strcmp(lane->class, class) &&
	       report_view_counts(view, lane->class);
}

static bool is_spin(const struct report_view *view, const struct timeline_lane *lane, const void *class)
{
	return lane->kind == TIMELINE_SPIN && !strcmp(lane->class, class) && !view->without_spins;
}

/* Threads of the class that are on a CPU, on average. */
static int threads_of(double *threads, const struct report_view *view, uint64_t begin_ns, uint64_t end_ns,
                      const char *class)
{
	struct report_series work, spins;
	int err = report_view_sum(&work, view, begin_ns, end_ns, RANK_WIDE_NS, is_work, class);

	*threads = 0;
	if (err)
		return err == -ENOMEM ? err : 0;
	err = report_view_sum(&spins, view, begin_ns, end_ns, RANK_WIDE_NS, is_spin, class);
	if (!err)
		*threads = report_mean(work.v, work.n) - report_mean(spins.v, spins.n);
	*threads = *threads > 0 ? *threads : 0;
	report_series_free(&work);
	report_series_free(&spins);
	return err;
}

/* What it has for each step, if that grew by more than what was found before. */
static int look_at(struct report_oncpu *found, const struct report_ranking *out,
                   const struct report_view *view, const struct report_view *other, const char *class)
{
	struct report_oncpu own = { .class = class };
	double before, during;
	int err = other ? threads_of(&before, other, other->begin_ns, other->end_ns, class)
	                : threads_of(&before, view, out->baseline_begin_ns, out->baseline_end_ns, class);

	if (!err)
		err = threads_of(&during, view, out->begin_ns, out->end_ns, class);
	if (err)
		return err;
	own.before_ns = 1e9 * before / out->steps_before;
	own.during_ns = 1e9 * during / out->steps_during;
	if (own.during_ns - own.before_ns > found->during_ns - found->before_ns)
		*found = own;
	return 0;
}

int report_oncpu_find(struct report_ranking *out, const struct report_view *view,
                      const struct report_view *other)
{
	double least = out->primary ? LEAST_BESIDE : LEAST_ALONE;
	int err = 0;

	out->oncpu = (struct report_oncpu){ .class = NULL };
	if (!out->by_steps || out->mode != REPORT_SPIKE || out->steps_before <= 0 || out->steps_during <= 0)
		return 0;
	for (size_t i = 0; i < timeline_count(view->timeline) && !err; i++) {
		const struct timeline_lane *lane = timeline_lane_at(view->timeline, i);

		if (lane->kind == TIMELINE_ONCPU && report_view_counts(view, lane->class))
			err = look_at(&out->oncpu, out, view, other, lane->class);
	}
	if (out->oncpu.during_ns - out->oncpu.before_ns <
	    least * (1e9 / out->steps_during - 1e9 / out->steps_before))
		out->oncpu.class = NULL;
	return err;
}

void report_oncpu_text(FILE *out, const struct report_ranking *ranking)
{
	const struct report_oncpu *oncpu = &ranking->oncpu;
	char during[TEXT_DURATION_BYTES], before[TEXT_DURATION_BYTES];

	report_duration_text(during, oncpu->during_ns);
	report_duration_text(before, oncpu->before_ns);
	if (!strcmp(oncpu->class, ranking->steps))
		fprintf(out, "each %s ran %s on a CPU instead of %s", ranking->steps, during, before);
	else
		fprintf(out, "%s ran %s on a CPU for each %s instead of %s", oncpu->class, during,
		        ranking->steps, before);
}
