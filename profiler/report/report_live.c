/* Keeps the last window's timeline, and looks for an incident in it and the present one. */

#include "profiler/report/report_live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report_incident.h"
#include "profiler/report/report_rank.h"

#define RECENT_NS  1500000000ULL /* an incident that ended longer ago is over */
#define HISTORY_NS 4000000000ULL /* that is needed to know what is usual */

struct report_live {
	struct timeline *last;  /* of the window before */
	struct ledger *classes; /* a row for each class, which says whether it is a process's */
	struct stamp *stamp;    /* nothing in it */
	uint64_t rest_ns;
	uint64_t told_ns; /* end of what was told last, Unix time */
};

struct report_live *report_live_new(uint64_t rest_ns)
{
	struct report_live *live = calloc(1, sizeof(*live));

	if (!live)
		return NULL;
	live->rest_ns = rest_ns;
	live->last = timeline_new(0);
	live->classes = ledger_new(0);
	live->stamp = stamp_new();
	if (live->last && live->classes && live->stamp)
		return live;
	report_live_free(live);
	errno = ENOMEM;
	return NULL;
}

void report_live_free(struct report_live *live)
{
	if (!live)
		return;
	timeline_free(live->last);
	ledger_free(live->classes);
	stamp_free(live->stamp);
	free(live);
}

/* --- looking ------------------------------------------------------------------------------------------------ */

/* To the end of the last second that the ledger was taken for, as samples come before. */
static uint64_t told_till(const struct timeline *lanes)
{
	uint64_t till_ns = 0;

	for (size_t i = 0; i < timeline_count(lanes); i++) {
		const struct timeline_lane *lane = timeline_lane_at(lanes, i);
		size_t count;
		const struct timeline_point *points = timeline_points(lanes, i, &count);

		if (lane->kind == TIMELINE_ONCPU && count && points[count - 1].begin_ns > till_ns)
			till_ns = points[count - 1].begin_ns;
	}
	return till_ns;
}

static bool is_worth_telling(const struct report_live *live, const struct report_ranking *ranking,
                             const struct report_view *view)
{
	return ranking->mode == REPORT_SPIKE &&
	       (ranking->by_fault || ranking->end_ns - ranking->begin_ns >= REPORT_LIVE_LEAST_NS) &&
	       ranking->end_ns + RECENT_NS >= view->end_ns && ranking->begin_ns >= live->told_ns;
}

/* Lanes that there is no room for are left out. */
static int merge(struct timeline *into, const struct timeline *from)
{
	int err = timeline_merge(into, from);

	return err == -ENOSPC ? 0 : err;
}

bool report_live_look(struct report_live *live, const struct timeline *lanes, struct report_hint *hint)
{
	struct timeline *all = lanes ? timeline_new(0) : NULL;
	const struct loaded_profiles input = { .timeline = all,
		                               .ledger = live->classes,
		                               .stamp = live->stamp };
	struct report_ranking ranking = { .mode = REPORT_NOTHING };
	struct report_view view;
	bool worth = false;

	if (!all)
		return false;
	if (!merge(all, live->last) && !merge(all, lanes) && !report_view_open(&view, &input, NULL)) {
		uint64_t till_ns = told_till(lanes);

		if (till_ns > view.begin_ns && till_ns < view.end_ns)
			view.end_ns = till_ns;
		if (view.end_ns - view.begin_ns >= HISTORY_NS &&
		    !report_incident_find(&ranking, &view, NULL, NULL, RECENT_NS))
			worth = is_worth_telling(live, &ranking, &view);
		report_view_close(&view);
	}
	timeline_free(all);
	if (worth) {
		*hint = (struct report_hint){ .begin_ns = ranking.begin_ns,
			                      .baseline_begin_ns = ranking.baseline_begin_ns,
			                      .baseline_end_ns = ranking.baseline_end_ns,
			                      .by_fault = ranking.by_fault };
		live->told_ns = ranking.end_ns + live->rest_ns;
	}
	report_ranking_free(&ranking);
	return worth;
}

/* --- the end of a window ------------------------------------------------------------------------------------ */

static int keep_classes(struct report_live *live, const struct loaded_profiles *input)
{
	struct ledger *classes = ledger_new(0);
	const struct ledger_row *last = NULL;
	int err = classes ? 0 : -ENOMEM;

	for (size_t i = 0; i < ledger_count(input->ledger) && !err; i++) {
		const struct ledger_row *row = ledger_at(input->ledger, i);
		const struct ledger_row kept = {
			.tag = row->class, .class = row->class, .base = row->base, .pid = row->base, .ns = 1
		};

		if (!last || last->base != row->base || strcmp(last->class, row->class) != 0)
			err = ledger_add(classes, &kept);
		last = row;
	}
	if (err) {
		ledger_free(classes);
		return err;
	}
	ledger_free(live->classes);
	live->classes = classes;
	return 0;
}

static bool is_known(struct report_live *live, const char *class)
{
	for (size_t i = 0; i < ledger_count(live->classes); i++) {
		const struct ledger_row *row = ledger_at(live->classes, i);

		if (row && !strcmp(row->class, class))
			return true;
	}
	return false;
}

bool report_live_keep(struct report_live *live, struct timeline *timeline)
{
	for (size_t i = 0; i < timeline_count(timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);

		if (lane->kind != TIMELINE_SIGNAL && !is_known(live, lane->class))
			return false;
	}
	timeline_free(live->last);
	live->last = timeline;
	return true;
}

int report_live_window(struct report_live *live, struct loaded_profiles *input)
{
	struct timeline *own = timeline_new(0), *last = live->last;
	int err = own ? merge(own, input->timeline) : -ENOMEM;

	if (!err && ledger_count(input->ledger))
		err = keep_classes(live, input);
	if (err) {
		timeline_free(own);
		return err;
	}
	err = merge(input->timeline, last);
	live->last = own;
	timeline_free(last);
	return err;
}
