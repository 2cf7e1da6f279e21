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

/* The same order as report_cause_same(). */
static int compare_keys(const void *left, const void *right)
{
	const struct report_cause *a = left, *b = right;
	int order = (a->kind > b->kind) - (a->kind < b->kind);

	order = order ? order : strcmp(a->name, b->name);
	return order ? order : strcmp(a->device, b->device);
}

void report_causes_add(struct report_cause *causes, size_t *count, const struct report_cause *cause)
{
	if (!*count || !report_cause_same(&causes[*count - 1], cause))
		causes[(*count)++] = *cause;
}

void report_causes_unite(struct report_cause *causes, size_t *count)
{
	size_t n = 0;

	qsort(causes, *count, sizeof(*causes), compare_keys);
	for (size_t i = 0; i < *count; i++)
		if (!n || !report_cause_same(&causes[n - 1], &causes[i]))
			causes[n++] = causes[i];
	*count = n;
}

static struct timeline_lane lane_of_spin(const struct report_spin *spin)
{
	return (struct timeline_lane){
		.kind = TIMELINE_SPIN, .class = spin->class, .name = spin->cause, .device = ""
	};
}

/* The lane that the row's waits are in, if they have one. False: it is no time of a cause. */
static bool lane_of_row(const struct ledger_row *row, struct timeline_lane *lane)
{
	*lane = (struct timeline_lane){ .class = row->class, .name = row->cause, .device = "" };
	switch (row->state) {
	case LEDGER_STALL:
		lane->kind = TIMELINE_STALL;
		lane->device = row->device;
		return true;
	case LEDGER_BLOCKED:
		lane->kind = TIMELINE_BLOCKED;
		return true;
	case LEDGER_RUNQUEUE:
		lane->kind = TIMELINE_RUNQUEUE;
		return true;
	default:
		return false;
	}
}

#define UNITE_FROM 1024 /* causes: so that few rows of many are there at a time */

void report_causes_add_ledger(struct report_cause *causes, size_t *count, const struct report_view *view)
{
	struct ledger *ledger = view->input->ledger;
	size_t unite_at = *count + UNITE_FROM;

	for (size_t i = 0; i < ledger_count(ledger); i++) {
		struct timeline_lane lane;
		struct report_cause cause;

		if (!lane_of_row(ledger_at(ledger, i), &lane) || !report_view_is_lost(view, &lane, NULL))
			continue;
		cause = report_cause_of_lane(&lane);
		report_causes_add(causes, count, &cause);
		if (*count >= unite_at) {
			report_causes_unite(causes, count);
			unite_at = 2 * *count + UNITE_FROM;
		}
	}
	for (size_t i = 0; i < view->spins.n; i++) {
		struct timeline_lane lane = lane_of_spin(&view->spins.spin[i]);
		struct report_cause cause = report_cause_of_lane(&lane);

		if (report_view_is_lost(view, &lane, NULL))
			report_causes_add(causes, count, &cause);
	}
	report_causes_unite(causes, count);
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

/* Waits that others end: what these did meanwhile may be to blame. */
static bool waits_for_others(const struct timeline_lane *lane)
{
	if (lane->kind == TIMELINE_BLOCKED)
		return strcmp(lane->name, "sleep") != 0;
	return lane->kind == TIMELINE_STALL && report_is_indirect(TIMELINE_STALL, lane->name);
}

/* Time of the ledger, or what the causes have of it, in nanoseconds. */
struct sums {
	/* United: excess_ns, of_loop and felt are sums, of the last what others end is left out. */
	struct report_cause *causes;
	size_t count;
	double wall, loop_wall;                 /* of classes that count, without those that idle */
	double loop_all, loop_waits_for_others; /* of the loop's classes */
};

/* NULL: none of them. */
static struct report_cause *cause_of(const struct sums *sums, const struct timeline_lane *lane)
{
	struct report_cause key = report_cause_of_lane(lane);

	return bsearch(&key, sums->causes, sums->count, sizeof(key), compare_keys);
}

static void add_row(struct sums *sums, const struct report_view *view, const struct ledger_row *row)
{
	bool counts = report_view_counts(view, row->class), loop = report_loop_has(&view->loop, row->class);
	bool idles = row->state == LEDGER_BLOCKED && report_loop_idles(&view->loop, row->class);
	struct timeline_lane lane;
	bool lost = lane_of_row(row, &lane), for_others = lost && waits_for_others(&lane);
	struct report_cause *cause = lost ? cause_of(sums, &lane) : NULL;
	double ns = (double)row->ns;

	sums->wall += counts ? ns : 0;
	sums->loop_wall += counts && !idles && loop ? ns : 0;
	sums->loop_all += loop ? ns : 0;
	sums->loop_waits_for_others += loop && for_others ? ns : 0;
	if (!cause)
		return;
	cause->excess_ns += counts && !idles ? ns : 0;
	cause->of_loop += counts && !idles && loop ? ns : 0;
	cause->felt += loop && !for_others ? ns : 0;
}

/* What threads waited for it on a CPU. */
static void add_spin(struct sums *sums, const struct report_view *view, const struct report_spin *spin)
{
	struct timeline_lane lane = lane_of_spin(spin);
	struct report_cause *cause = cause_of(sums, &lane);

	if (!cause)
		return;
	cause->excess_ns += report_view_counts(view, spin->class) ? (double)spin->ns : 0;
	cause->of_loop += report_loop_has(&view->loop, spin->class) ? (double)spin->ns : 0;
	cause->felt += report_loop_has(&view->loop, spin->class) ? (double)spin->ns : 0;
}

/* The largest part of the loop's time that a cause may have cost it: its own share, waits of the loop that others end, and what of the run is
 * under none of its tags. 1: no loop is known. */
static double part_felt(const struct sums *sums, double ns, const struct report_view *view)
{
	double length = (double)(view->end_ns - view->begin_ns), wall = sums->loop_all;
	double felt = ns + sums->loop_waits_for_others, all;

	/* Those that are no ranks were there at once only if they have more time than one has. */
	all = length *
	      (double)(view->loop.n_ranks || wall <= length ? view->loop.n_processes : view->loop.n_listed);
	if (all > wall) {
		felt += all - wall;
		wall = all;
	}
	return view->loop.n && wall > 0 ? felt / wall : 1;
}

/* Of all threads' time that counts, and of the loop's, which is little of that beside many workers. */
void report_causes_share(struct report_cause *causes, size_t count, const struct report_view *view)
{
	struct sums sums = { .causes = causes, .count = count };

	qsort(causes, count, sizeof(*causes), compare_keys);
	for (size_t i = 0; i < count; i++)
		causes[i].excess_ns = causes[i].of_loop = causes[i].felt = 0;
	for (size_t i = 0; i < ledger_count(view->input->ledger); i++)
		add_row(&sums, view, ledger_at(view->input->ledger, i));
	for (size_t i = 0; i < view->spins.n && !view->without_spins; i++)
		add_spin(&sums, view, &view->spins.spin[i]);
	for (size_t i = 0; i < count; i++) {
		struct report_cause *cause = &causes[i];

		cause->share = sums.wall > 0 ? cause->excess_ns / sums.wall : 0;
		cause->of_loop = sums.loop_wall > 0 ? cause->of_loop / sums.loop_wall : 0;
		cause->felt = part_felt(&sums, cause->felt, view);
		cause->score = fmax(cause->share, cause->of_loop);
		cause->before = cause->z = cause->spike = cause->correlation = 0;
	}
	report_causes_sort(causes, count);
}
