/* Lists causes, and sums them over the ledger. */

#include "profiler/report/report_causes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/loaded/loaded_profiles.h"

bool report_cause_same(const struct report_cause *a, const struct report_cause *b)
{
	return a->kind == b->kind && !strcmp(a->name, b->name) && !strcmp(a->device, b->device);
}

struct report_cause report_cause_of_lane(const struct timeline_lane *lane)
{
	const struct report_signal *signal =
	        lane->kind == TIMELINE_SIGNAL ? report_signal_of(lane->name) : NULL;

	return (struct report_cause){ .kind = lane->kind == TIMELINE_SPIN ? TIMELINE_STALL : lane->kind,
		                      .name = lane->kind == TIMELINE_RUNQUEUE ? "runqueue" : lane->name,
		                      .device = lane->device,
		                      .family = lane->kind != TIMELINE_SIGNAL
		                                        ? report_family_of(lane->kind, lane->name)
		                                : signal ? signal->family
		                                         : FAMILY_UNKNOWN,
		                      .indirect = lane->kind != TIMELINE_SIGNAL &&
		                                  report_is_indirect(lane->kind, lane->name) };
}

bool report_cause_has_lane(const struct report_cause *cause, const struct report_view *view,
                           const struct timeline_lane *lane)
{
	struct report_cause of_lane = report_cause_of_lane(lane);

	return report_cause_same(&of_lane, cause) &&
	       (lane->kind == TIMELINE_SIGNAL || report_view_is_lost(view, lane, NULL));
}

void report_causes_add(struct report_cause *causes, size_t *count, const struct report_cause *cause)
{
	for (size_t i = 0; i < *count; i++)
		if (report_cause_same(&causes[i], cause))
			return;
	causes[(*count)++] = *cause;
}

static struct timeline_lane lane_of_spin(const struct report_spin *spin)
{
	return (struct timeline_lane){
		.kind = TIMELINE_SPIN, .class = spin->class, .name = spin->cause, .device = ""
	};
}

void report_causes_add_ledger(struct report_cause *causes, size_t *count, const struct report_view *view)
{
	struct ledger *ledger = view->input->ledger;

	for (size_t i = 0; i < ledger_count(ledger); i++) {
		const struct ledger_row *row = ledger_at(ledger, i);
		struct timeline_lane lane = { .class = row->class, .name = row->cause, .device = "" };
		struct report_cause cause;

		if (row->state == LEDGER_STALL) {
			lane.kind = TIMELINE_STALL;
			lane.device = row->device;
		} else if (row->state == LEDGER_BLOCKED || row->state == LEDGER_RUNQUEUE) {
			lane.kind = row->state == LEDGER_BLOCKED ? TIMELINE_BLOCKED : TIMELINE_RUNQUEUE;
		} else {
			continue;
		}
		cause = report_cause_of_lane(&lane);
		if (report_view_is_lost(view, &lane, NULL))
			report_causes_add(causes, count, &cause);
	}
	for (size_t i = 0; i < view->spins.n; i++) {
		struct timeline_lane lane = lane_of_spin(&view->spins.spin[i]);
		struct report_cause cause = report_cause_of_lane(&lane);

		if (report_view_is_lost(view, &lane, NULL))
			report_causes_add(causes, count, &cause);
	}
}

static int compare_causes(const void *left, const void *right)
{
	const struct report_cause *a = left, *b = right;
	int order = (b->score > a->score) - (b->score < a->score);

	order = order ? order : (b->share > a->share) - (b->share < a->share);
	order = order ? order : strcmp(a->name, b->name);
	return order ? order : strcmp(a->device, b->device);
}

void report_causes_sort(struct report_cause *causes, size_t count)
{
	qsort(causes, count, sizeof(*causes), compare_causes);
}

static bool is_of_cause(const struct ledger_row *row, const struct report_cause *cause)
{
	switch (cause->kind) {
	case TIMELINE_RUNQUEUE:
		return row->state == LEDGER_RUNQUEUE;
	case TIMELINE_STALL:
		return row->state == LEDGER_STALL && !strcmp(row->cause, cause->name) &&
		       !strcmp(row->device, cause->device);
	default:
		return cause->kind == TIMELINE_BLOCKED && row->state == LEDGER_BLOCKED &&
		       !strcmp(row->cause, cause->name);
	}
}

/* What threads that count spun for it, or, `of_loop`, the loop's alone. */
static double spun_for(const struct report_view *view, const struct report_cause *cause, bool of_loop)
{
	double sum = 0;

	for (size_t i = 0; i < view->spins.n && !view->without_spins; i++) {
		const struct report_spin *spin = &view->spins.spin[i];
		struct timeline_lane lane = lane_of_spin(spin);
		struct report_cause of_spin = report_cause_of_lane(&lane);

		if (report_cause_same(&of_spin, cause) && (of_loop ? report_loop_has(&view->loop, spin->class)
		                                                   : report_view_counts(view, spin->class)))
			sum += (double)spin->ns;
	}
	return sum;
}

/* Of all threads' time that counts, and of the loop's, which is little of that beside many workers. */
static void share_of_ledger(const struct report_view *view, struct report_cause *cause)
{
	double wall = 0, sum = 0, loop_wall = 0, loop_sum = 0;

	for (size_t i = 0; i < ledger_count(view->input->ledger); i++) {
		const struct ledger_row *row = ledger_at(view->input->ledger, i);
		bool idles = row->state == LEDGER_BLOCKED && report_loop_idles(&view->loop, row->class);

		if (!report_view_counts(view, row->class))
			continue;
		wall += (double)row->ns;
		if (idles)
			continue;
		sum += is_of_cause(row, cause) ? (double)row->ns : 0;
		if (!report_loop_has(&view->loop, row->class))
			continue;
		loop_wall += (double)row->ns;
		loop_sum += is_of_cause(row, cause) ? (double)row->ns : 0;
	}
	sum += spun_for(view, cause, false);
	loop_sum += spun_for(view, cause, true);
	cause->excess_ns = sum;
	cause->share = wall > 0 ? sum / wall : 0;
	cause->of_loop = loop_wall > 0 ? loop_sum / loop_wall : 0;
	cause->score = fmax(cause->share, cause->of_loop);
	cause->before = cause->z = cause->spike = cause->correlation = 0;
}

/* Waits that others end: what these did meanwhile may be to blame. */
static bool waits_for_others(const struct ledger_row *row)
{
	if (row->state == LEDGER_BLOCKED)
		return strcmp(row->cause, "sleep") != 0;
	return row->state == LEDGER_STALL && report_is_indirect(TIMELINE_STALL, row->cause);
}

/* The largest part of the loop's time that the cause may have cost it: its own share, waits of the loop that others end, and what of the run is
 * under none of its tags. 1: no loop is known. */
static double felt_by_loop(const struct report_cause *cause, const struct report_view *view)
{
	double length = (double)(view->end_ns - view->begin_ns), all;
	double wall = 0, felt = 0;

	for (size_t i = 0; i < ledger_count(view->input->ledger); i++) {
		const struct ledger_row *row = ledger_at(view->input->ledger, i);

		if (!report_loop_has(&view->loop, row->class))
			continue;
		wall += (double)row->ns;
		if (is_of_cause(row, cause) || waits_for_others(row))
			felt += (double)row->ns;
	}
	felt += spun_for(view, cause, true);
	/* Those that are no ranks were there at once only if they have more time than one has. */
	all = length *
	      (double)(view->loop.n_ranks || wall <= length ? view->loop.n_processes : view->loop.n_listed);
	if (all > wall) {
		felt += all - wall;
		wall = all;
	}
	return view->loop.n && wall > 0 ? felt / wall : 1;
}

void report_causes_share(struct report_cause *causes, size_t count, const struct report_view *view)
{
	for (size_t i = 0; i < count; i++) {
		share_of_ledger(view, &causes[i]);
		causes[i].felt = felt_by_loop(&causes[i], view);
	}
	report_causes_sort(causes, count);
}
