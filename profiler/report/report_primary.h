/* Which of the scored causes is the primary one (report_rank.h has the rule), why, and whether it is news. */
#ifndef STALLPROF_PROFILER_REPORT_PRIMARY_H
#define STALLPROF_PROFILER_REPORT_PRIMARY_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/report/report_ranking.h"
#include "profiler/report/report_view.h"

/* Of an incident; causes and signals are sorted. */
void report_primary_choose(struct report_ranking *out);
/* Of a run that is slow all the time: scores are shares of the ledger then. Where no stall took enough, what the loop waits for most is the cause.
 * `other`: of the given baseline, or NULL. */
void report_primary_choose_steady(struct report_ranking *out, const struct report_view *view,
                                  const struct report_view *other);

/* Whether a cause of a steady run is told by its share of the loop's time, as that is more than the one of all threads' time. */
bool report_primary_of_loop(const struct report_cause *cause);

/* Whether a steady run's primary cause takes hardly more of the time than in the given baseline, so that it is no fault of this run. */
bool report_primary_as_baseline(const struct report_ranking *ranking);

/* Where no stall is to blame: the wait for others that took most, if a stall that took as much would be. NULL: there is none. */
const struct report_cause *report_primary_wait(const struct report_ranking *ranking);

/* Whether the steady run's primary cause is a GPU's that takes 30 % of the time, and more than anything else. */
bool report_primary_is_bound(const struct report_ranking *ranking);

/* Whether the steady run's primary cause is what the loop waits for, which may be as it should. */
bool report_primary_is_wait(const struct report_ranking *ranking);

/* What the incident's primary cause took beyond what is usual; without one, the incident. */
double report_incident_ns(const struct report_ranking *ranking);

/* Sets out->whole, after the primary cause of an incident is chosen. 0 or -ENOMEM. */
int report_primary_choose_whole(struct report_ranking *out, const struct report_view *view);

/* Why a cause is not the primary one, although its score is higher; "" if it is not. Behind "as". */
const char *report_primary_why_not(const struct report_ranking *ranking, const struct report_cause *cause);

/* Whether somebody should be told of it while it goes on: it has a primary cause, not less time was lost than usual, and steps that
 * came more slowly did not do so for want of their threads. */
bool report_ranking_is_news(const struct report_ranking *ranking);

/* Whether a stretch of slower steps, to which nothing that threads wait for speaks, is less to tell than what the whole run has: that took much of
 * the loop's time, or of all threads', and the stretch is a small part of it. Call report_primary_choose_whole() before. */
bool report_primary_is_whole(const struct report_ranking *ranking, const struct report_view *view);

#endif
