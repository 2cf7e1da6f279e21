/* Keeps the last window's timeline, and looks for an incident in it and the present one. */

#include "profiler/report/report_live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report_families.h"
#include "profiler/report/report_incident.h"
#include "profiler/report/report_live_classes.h"
#include "profiler/report/report_primary.h"
#include "profiler/report/report_rank.h"

#define RECENT_NS      1500000000ULL /* an incident that ended longer ago is over */
#define HISTORY_NS     4000000000ULL /* that is needed to know what is usual */
#define UNEXPLAINED_NS 5000000000ULL /* after one without a cause, before another window is ended for such */
#define SAME_NS        1000000000ULL /* a shorter gap is none between two incidents */
#define LEAST_RATE     0.2 /* threads; what was told is taken for no less when others are compared with it */
#define AGAIN_NS                                                                                             \
	60000000000ULL /* of what is looked into once more no more is ranked: the loop waits for it */
#define LEAST_STEPS 3  /* a second: of fewer the seconds differ by chance */
#define NAME_BYTES  64

struct cause_name {
	char name[NAME_BYTES], device[NAME_BYTES]; /* "": not known */
};

/* Of an incident that was told. Unix times. */
struct told {
	uint64_t end_ns;         /* when it was told; 0: nothing was */
	uint64_t seen_ns;        /* up to then it went on */
	double rate;             /* lost then, beyond what is usual: threads */
	double steps;            /* a second, then, if they made the incident; -1: they did not */
	struct cause_name cause; /* its primary one; "": not known yet */
};

struct report_live {
	struct timeline *last;       /* of the window before */
	bool has_both;               /* and of the one before that */
	struct ledger *classes;      /* a row for each class, which says whether it is a process's */
	struct ledger *classes_then; /* those of the window before */
	struct stamp *stamp;         /* nothing in it */
	uint64_t rest_ns;
	struct told told, before; /* before: as it was before the last look that found something */
	uint64_t tried_ns;        /* up to then no window is ended for an incident without a cause */
	uint64_t other_ns;        /* end of the last that was passed over */
	uint64_t passed_over_ns;
	struct report_hint found; /* by the last look; begin_ns is 0: nothing */
	struct report_hint again; /* what was told, to be looked into once more; begin_ns is 0: nothing */
	uint64_t second_ns;       /* the begin of what is being looked into once more; 0: nothing is */
	struct cause_name second; /* its cause by the classes then */
};

struct report_live *report_live_new(uint64_t rest_ns)
{
	struct report_live *live = calloc(1, sizeof(*live));

	if (!live)
		return NULL;
	live->rest_ns = rest_ns;
	live->last = timeline_new(0);
	live->classes = ledger_new(0);
	live->classes_then = ledger_new(0);
	live->stamp = stamp_new();
	if (live->last && live->classes && live->classes_then && live->stamp)
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
	ledger_free(live->classes_then);
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

static bool lasts(const struct report_ranking *ranking, const struct report_view *view)
{
	return ranking->mode == REPORT_SPIKE &&
	       (ranking->by_fault || ranking->end_ns - ranking->begin_ns >= REPORT_LIVE_LEAST_NS) &&
	       ranking->end_ns + RECENT_NS >= view->end_ns;
}

/* Threads lost beyond what is usual, in the newest part of the incident. */
static double rate_of(const struct report_ranking *ranking)
{
	const struct report_series *symptom = &ranking->symptom;
	size_t newest = (size_t)(REPORT_LIVE_LEAST_NS / symptom->step_ns), from = ranking->incident.from,
	       to = ranking->incident.to;

	if (to > from + newest)
		from = to - newest;
	return report_mean(symptom->v + from, to - from) - ranking->baseline.median;
}

static struct cause_name name_of(const struct report_cause *primary)
{
	struct cause_name cause;

	snprintf(cause.name, sizeof(cause.name), "%s", primary ? primary->name : "");
	snprintf(cause.device, sizeof(cause.device), "%s", primary ? primary->device : "");
	return cause;
}

static bool is_same_cause(const struct cause_name *a, const struct cause_name *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->device, b->device);
}

/* Whether it is told in spite of the rest. `primary`: NULL: not known. */
static bool is_much_worse(const struct told *told, const struct report_ranking *ranking, double rate,
                          const struct report_cause *primary, bool same)
{
	struct cause_name cause = name_of(primary);

	if (!primary)
		return false;
	if (report_is_fault(primary->name) && !is_same_cause(&cause, &told->cause))
		return true;
	/* Of what was told by then nothing is in it. */
	if (same && ranking->end_ns < told->end_ns + REPORT_LIVE_LEAST_NS)
		return false;
	/* Where time is lost anyway, a wait that is far longer shows by the steps alone. */
	if (told->steps >= LEAST_STEPS && ranking->steps_newest >= 0 &&
	    ranking->steps_newest * REPORT_LIVE_WORSE <= told->steps)
		return true;
	return rate >= REPORT_LIVE_WORSE * (told->rate > LEAST_RATE ? told->rate : LEAST_RATE);
}

/* It was told by its first seconds, a part of which may be from before it: the next ones tell how bad it was. */
static void learn(struct told *told, const struct report_ranking *ranking, double rate)
{
	if (ranking->end_ns >= told->end_ns + 2 * REPORT_LIVE_LEAST_NS)
		return;
	if (rate > told->rate)
		told->rate = rate;
	if (ranking->steps_newest >= 0 && ranking->steps_newest < told->steps)
		told->steps = ranking->steps_newest;
}

static void pass_over(struct report_live *live, const struct report_ranking *ranking)
{
	if (ranking->begin_ns > live->other_ns + SAME_NS)
		live->passed_over_ns = live->told.end_ns + live->rest_ns - ranking->end_ns;
	live->other_ns = ranking->end_ns;
}

/* Whether the incident is to be looked into. `primary`: its cause, as far as is known. */
static bool choose(struct report_live *live, const struct report_ranking *ranking,
                   const struct report_cause *primary, struct report_hint *hint)
{
	struct told *told = &live->told;
	bool any = told->end_ns, same = any && ranking->begin_ns <= told->seen_ns + SAME_NS,
	     rests = any && (same || ranking->end_ns < told->end_ns + live->rest_ns);
	double rate = rate_of(ranking);

	if (same && ranking->end_ns > told->seen_ns)
		told->seen_ns = ranking->end_ns;
	if (!primary && (rests || ranking->begin_ns < live->tried_ns))
		return false;
	if (rests && !is_much_worse(told, ranking, rate, primary, same)) {
		if (same)
			learn(told, ranking, rate);
		else
			pass_over(live, ranking);
		return false;
	}
	/* What was told already is not told again. */
	if (same && !ranking->by_fault && hint->begin_ns + REPORT_LIVE_LEAST_NS < ranking->end_ns)
		hint->begin_ns = ranking->end_ns - REPORT_LIVE_LEAST_NS;
	live->before = *told;
	*told = (struct told){ .end_ns = ranking->end_ns,
		               .seen_ns = ranking->end_ns,
		               .rate = rate,
		               .steps = ranking->by_steps ? ranking->steps_newest : -1,
		               .cause = name_of(primary) };
	return true;
}

/* Looks for the cause in what there is so far. */
static bool look_into(struct report_live *live, const struct loaded_profiles *input,
                      const struct report_ranking *found, struct report_hint *hint)
{
	struct report_ranking causes;
	bool worth;

	*hint = (struct report_hint){ .begin_ns = found->begin_ns,
		                      .baseline_begin_ns = found->baseline_begin_ns,
		                      .baseline_end_ns = found->baseline_end_ns,
		                      .by_fault = found->by_fault,
		                      .by_steps = found->by_steps };
	if (report_rank(&causes, input, NULL, NULL, hint))
		return choose(live, found, NULL, hint);
	worth = choose(live, found, report_ranking_is_news(&causes) ? causes.primary : NULL, hint);
	report_ranking_free(&causes);
	return worth;
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
	struct report_hint found;
	struct report_view view;
	bool worth = false;

	live->passed_over_ns = 0;
	live->found.begin_ns = 0;
	live->second_ns = 0;
	if (!all)
		return false;
	if (!merge(all, live->last) && !merge(all, lanes) && !report_view_open(&view, &input, NULL)) {
		uint64_t till_ns = told_till(lanes);

		if (till_ns > view.begin_ns && till_ns < view.end_ns)
			view.end_ns = till_ns;
		if (view.end_ns - view.begin_ns >= HISTORY_NS &&
		    !report_incident_find(&ranking, &view, NULL, NULL, RECENT_NS))
			worth = lasts(&ranking, &view) && look_into(live, &input, &ranking, &found);
		report_view_close(&view);
	}
	timeline_free(all);
	report_ranking_free(&ranking);
	if (worth)
		*hint = live->found = found;
	return worth;
}

uint64_t report_live_passed_over(const struct report_live *live)
{
	return live->passed_over_ns;
}

bool report_live_wants(const struct report_live *live)
{
	return live->again.begin_ns;
}

/* The cause of the incident that begins there. False: the ranking is of another stretch, as the hint did not fit, or says nothing. */
static bool names_cause(struct cause_name *cause, const struct report_ranking *ranking, uint64_t begin_ns)
{
	if (!report_ranking_is_news(ranking) || ranking->begin_ns > begin_ns ||
	    ranking->begin_ns + ranking->symptom.step_ns <= begin_ns)
		return false;
	*cause = name_of(ranking->primary);
	return true;
}

/* By the classes of the window in which it was told: in the one after it the loop may have ended. */
static bool has_another_cause(struct report_live *live, const struct loaded_profiles *input,
                              const struct report_hint *hint)
{
	const struct loaded_profiles then = { .timeline = input->timeline,
		                              .ledger = live->classes_then,
		                              .stamp = live->stamp };
	struct report_ranking ranking;
	bool another;

	if (!ledger_count(input->ledger) || report_rank(&ranking, &then, NULL, NULL, hint))
		return false;
	another = names_cause(&live->second, &ranking, hint->begin_ns) &&
	          !is_same_cause(&live->second, &live->told.cause);
	report_ranking_free(&ranking);
	return another;
}

bool report_live_again(struct report_live *live, const struct loaded_profiles *input,
                       struct report_hint *hint)
{
	uint64_t seen_ns = live->told.seen_ns, till_ns = told_till(input->timeline);

	if (!live->again.begin_ns || live->found.begin_ns)
		return false;
	*hint = live->again;
	hint->end_ns = seen_ns + REPORT_LIVE_LEAST_NS < till_ns ? seen_ns : 0;
	if (till_ns > hint->begin_ns + AGAIN_NS &&
	    (!hint->end_ns || hint->end_ns > hint->begin_ns + AGAIN_NS))
		hint->end_ns = hint->begin_ns + AGAIN_NS;
	live->again.begin_ns = 0;
	if (!has_another_cause(live, input, hint))
		return false;
	live->second_ns = hint->begin_ns;
	return true;
}

/* Of one that was told: whether it is told again. */
static bool settle_again(struct report_live *live, const struct report_ranking *ranking)
{
	struct cause_name cause;
	bool is_sure = names_cause(&cause, ranking, live->second_ns) && is_same_cause(&cause, &live->second);

	live->second_ns = 0;
	if (is_sure)
		live->told.cause = cause;
	return is_sure;
}

bool report_live_settle(struct report_live *live, const struct report_ranking *ranking)
{
	if (live->second_ns)
		return settle_again(live, ranking);
	if (report_ranking_is_news(ranking)) {
		live->told.cause = name_of(ranking->primary);
		live->again = live->found;
		/* Of a device's recovery there is no doubt, and it is short. */
		if (live->found.by_fault)
			live->again.begin_ns = 0;
		return true;
	}
	live->tried_ns = live->told.end_ns + UNEXPLAINED_NS;
	live->told = live->before;
	return false;
}

/* --- the end of a window ------------------------------------------------------------------------------------ */

static int keep_classes(struct report_live *live, const struct loaded_profiles *input)
{
	struct ledger *classes = report_live_classes(input);

	if (!classes)
		return -ENOMEM;
	ledger_free(live->classes_then);
	live->classes_then = live->classes;
	live->classes = classes;
	return 0;
}

bool report_live_keep(struct report_live *live, struct timeline *timeline)
{
	for (size_t i = 0; i < timeline_count(timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);

		if (lane->kind != TIMELINE_SIGNAL && !report_live_has_class(live->classes, lane->class))
			return false;
	}
	timeline_free(live->last);
	live->last = timeline;
	live->has_both = false;
	return true;
}

/* Also what was kept before, if the window's incident is to be looked into once more: with the same baseline. Not three of them, as there may
 * be one after the other. Without memory for it there is no second look. */
static void keep_both(struct report_live *live, const struct timeline *all)
{
	struct timeline *both;

	live->has_both = live->found.begin_ns && !live->has_both;
	both = live->has_both ? timeline_new(0) : NULL;
	if (!both || merge(both, all)) {
		timeline_free(both);
		return;
	}
	timeline_free(live->last);
	live->last = both;
}

int report_live_window(struct report_live *live, struct loaded_profiles *input)
{
	struct timeline *all = timeline_new(0);
	int err = all ? 0 : -ENOMEM;

	if (!err && ledger_count(input->ledger))
		err = keep_classes(live, input);
	/* The oldest first, as points are added at the end of a lane. */
	if (!err)
		err = merge(all, live->last);
	if (!err)
		err = merge(all, input->timeline);
	if (err) {
		timeline_free(all);
		return err;
	}
	timeline_free(live->last);
	live->last = input->timeline;
	input->timeline = all;
	keep_both(live, all);
	return 0;
}
