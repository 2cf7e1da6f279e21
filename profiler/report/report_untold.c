/* Finds the causes that one of two profiles could not see. */

#include "profiler/report/report_untold.h"

#include <string.h>

#include "profiler/diff/diff_sound.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report_families.h"

#define LEAST_THREADS 0.01 /* that a profile without a lane of a cause may have lost to it */

static enum timeline_kind kind_of(const struct timeline_lane *lane)
{
	return lane->kind == TIMELINE_SPIN ? TIMELINE_STALL : lane->kind;
}

/* Whether it has a lane of lost time of that kind, and, unless name is NULL, name. */
static bool has_lane(const struct report_view *view, enum timeline_kind kind, const char *name)
{
	for (size_t i = 0; i < timeline_count(view->timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(view->timeline, i);

		if (kind_of(lane) == kind && (!name || !strcmp(lane->name, name)) &&
		    (!name || report_view_is_lost(view, lane, NULL)))
			return true;
	}
	return false;
}

/* Threads that were lost by the ledger, to all causes where name is NULL. */
static double threads_lost(const struct report_view *view, enum timeline_kind kind, const char *name)
{
	enum ledger_state state = kind == TIMELINE_STALL ? LEDGER_STALL : LEDGER_BLOCKED;
	double ns = 0;

	for (size_t i = 0; i < ledger_count(view->input->ledger); i++) {
		const struct ledger_row *row = ledger_at(view->input->ledger, i);
		const struct timeline_lane lane = { .kind = kind, .class = row->class, .name = row->cause };

		if (row->state == state && (!name || !strcmp(row->cause, name)) &&
		    report_view_is_lost(view, &lane, NULL))
			ns += (double)row->ns;
	}
	return ns / (double)(view->end_ns - view->begin_ns);
}

/* Whether the view, which has no such lane, does not tell whether there was any of it; `why` then says why. */
static bool is_untold(const struct report_view *view, enum timeline_kind kind, const char *name, char *why)
{
	const struct stamp *stamp = view->input->stamp;

	if (kind == TIMELINE_BLOCKED && !stamp_coverage(stamp).blocked_threshold_ns &&
	    !has_lane(view, kind, NULL) && threads_lost(view, kind, NULL) >= LEAST_THREADS) {
		snprintf(why, REPORT_UNTOLD_WHY_BYTES, "waits that are no stalls were not recorded");
		return true;
	}
	if (threads_lost(view, kind, name) >= LEAST_THREADS) {
		snprintf(why, REPORT_UNTOLD_WHY_BYTES, "its timeline has none of what its ledger has");
		return true;
	}
	return kind == TIMELINE_STALL && stamp_hook_count(stamp) &&
	       !diff_sound_looked_for(stamp, name, why, REPORT_UNTOLD_WHY_BYTES);
}

/* What `view` has and `without` does not tell. */
static void find(struct report_untold *untold, const struct report_view *view,
                 const struct report_view *without, bool of_other)
{
	for (size_t i = 0; i < timeline_count(view->timeline) && untold->n < REPORT_UNTOLD_MAX; i++) {
		const struct timeline_lane *lane = timeline_lane_at(view->timeline, i);
		struct report_untold_cause *cause = &untold->cause[untold->n];

		if ((kind_of(lane) != TIMELINE_STALL && lane->kind != TIMELINE_BLOCKED) ||
		    !report_view_is_lost(view, lane, NULL) || report_view_is_untold(untold, lane) ||
		    has_lane(without, kind_of(lane), lane->name))
			continue;
		if (!is_untold(without, kind_of(lane), lane->name, cause->why))
			continue;
		cause->kind = kind_of(lane);
		cause->name = lane->name;
		cause->of_other = of_other;
		untold->n++;
	}
}

void report_untold_find(struct report_untold *untold, const struct report_view *view,
                        const struct report_view *other)
{
	untold->n = 0;
	find(untold, view, other, true);
	find(untold, other, view, false);
}

bool report_untold_tells_signal(const struct report_view *view, const char *signal)
{
	const struct stamp *stamp = view->input->stamp;

	for (size_t i = 0; i < timeline_count(view->timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(view->timeline, i);

		if (lane->kind == TIMELINE_SIGNAL && !*lane->class && !strcmp(lane->name, signal))
			return true;
	}
	for (size_t i = 0; i < stamp_hook_count(stamp); i++) {
		struct stamp_hook hook = stamp_hook_at(stamp, i);

		if (!strcmp(hook.cause, REPORT_SIGNALS) && !strcmp(hook.hook, signal))
			return hook.state == HOOK_ATTACHED;
	}
	return false;
}

/* Whether they are told in one sentence. */
static bool is_alike(const struct report_untold_cause *a, const struct report_untold_cause *b)
{
	return a->of_other == b->of_other && !strcmp(a->why, b->why);
}

static bool was_told(const struct report_untold *untold, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (is_alike(&untold->cause[i], &untold->cause[index]))
			return true;
	return false;
}

void report_untold_text(FILE *out, const struct report_untold *untold)
{
	for (size_t i = 0; i < untold->n; i++) {
		const struct report_untold_cause *cause = &untold->cause[i];

		if (was_told(untold, i))
			continue;
		fprintf(out, " Not compared over time, as %s does not tell of it (",
		        cause->of_other ? "the baseline" : "this profile");
		text_print_clean(out, cause->why, 0);
		fputs("):", out);
		for (size_t k = i; k < untold->n; k++) {
			if (!is_alike(cause, &untold->cause[k]))
				continue;
			fputs(k > i ? ", " : " ", out);
			text_print_clean(out, untold->cause[k].name, 0);
		}
		fputc('.', out);
	}
}
