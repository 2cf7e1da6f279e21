/* Finds stretches in which requests waited for a device's recovery. */

#include "profiler/report/report_faults.h"

#include "profiler/report/report_families.h"

#define LEAST_LOST_NS 1e8
#define GAP_NS        2000000000ULL

static bool is_fault(const struct report_view *view, const struct timeline_lane *lane, const void *unused)
{
	(void)unused;
	return lane->kind == TIMELINE_STALL && report_is_fault(lane->name) &&
	       report_view_is_lost(view, lane, NULL);
}

enum choice { LARGEST, NEWEST, AT };

/* The stretch with the largest sum, the newest, or the one at (or next to) the step `at`. False: there is none. */
static bool find_stretch(struct report_spike *found, size_t *count, const struct report_series *faults,
                         enum choice choice, size_t at)
{
	size_t gap = (size_t)(GAP_NS / faults->step_ns), last = 0;
	struct report_spike stretch = { 0 };
	bool any = false;

	*count = 0;
	for (size_t i = 0; i < faults->n; i++) {
		if (faults->v[i] <= 0)
			continue;
		if (!stretch.to || i - last > gap)
			stretch = (struct report_spike){ .from = i };
		last = i;
		stretch.to = i + 1;
		if (stretch.excess < LEAST_LOST_NS &&
		    stretch.excess + faults->v[i] * (double)faults->step_ns >= LEAST_LOST_NS)
			(*count)++;
		stretch.excess += faults->v[i] * (double)faults->step_ns;
		if (stretch.excess < LEAST_LOST_NS || (choice == LARGEST && stretch.excess < found->excess) ||
		    (choice == AT && (stretch.from > at + gap || stretch.to + gap < at)))
			continue;
		*found = stretch;
		any = true;
	}
	return any;
}

static void place(struct report_ranking *out, struct report_spike *stretch, size_t count)
{
	const struct report_series *symptom = &out->symptom;

	out->mode = REPORT_SPIKE;
	out->by_fault = true;
	out->by_steps = false;
	out->spikes = count;
	out->begin_ns = symptom->begin_ns + stretch->from * symptom->step_ns;
	out->end_ns = symptom->begin_ns + stretch->to * symptom->step_ns;
	out->during = stretch->mean = report_mean(symptom->v + stretch->from, stretch->to - stretch->from);
	stretch->excess = (stretch->mean - out->baseline.median) * (double)(stretch->to - stretch->from) *
	                  (double)symptom->step_ns;
	stretch->z = (stretch->mean - out->baseline.median) / out->baseline.sigma;
	out->incident = *stretch;
}

int report_faults_find(struct report_ranking *out, const struct report_view *view, uint64_t wanted_ns,
                       uint64_t recent_ns)
{
	enum choice choice = wanted_ns ? AT : recent_ns ? NEWEST : LARGEST;
	struct report_spike found = { 0 };
	struct report_series faults;
	size_t count, at = 0;
	int err;

	if (out->mode == REPORT_SPIKE && !wanted_ns)
		return 0;
	err = report_view_sum(&faults, view, view->begin_ns, view->end_ns, RANK_WIDE_NS, is_fault, NULL);
	if (err)
		return err;
	if (wanted_ns > out->symptom.begin_ns)
		at = (size_t)((wanted_ns - out->symptom.begin_ns) / faults.step_ns);
	if (faults.n == out->symptom.n && find_stretch(&found, &count, &faults, choice, at) &&
	    (!recent_ns || (faults.n - found.to) * faults.step_ns <= recent_ns))
		place(out, &found, count);
	report_series_free(&faults);
	return 0;
}
