/* When most time was lost beyond what is usual: the part of a ranking that comes before its causes. */
#ifndef STALLPROF_PROFILER_REPORT_INCIDENT_H
#define STALLPROF_PROFILER_REPORT_INCIDENT_H

#include "profiler/report/report_ranking.h"
#include "profiler/report/report_view.h"

/*
 * Fills the ranking's symptom, baseline, incident, mode (spike or steady) and times, on the view's axis. `other`: the view of another profile
 * that gives the baseline, which is cut to the time with threads (report_view_cut_away()); or NULL. `hint`: when it is known already; or NULL. `recent_ns`: only the
 * newest incident counts, if it went on in the last so many nanoseconds; 0: the worst of all. 0 or -ENOMEM; in either case
 * report_ranking_free() frees the ranking.
 */
int report_incident_find(struct report_ranking *out, const struct report_view *view,
                         struct report_view *other, const struct report_hint *hint, uint64_t recent_ns);

/* Takes the incident back: nothing stands out. */
void report_incident_drop(struct report_ranking *out);

/* Makes the symptom's places [from, to) the incident. 0 or -ENOMEM. */
int report_incident_move(struct report_ranking *out, const struct report_view *view, size_t from, size_t to);

/* Makes its times Unix times, and gives those of the stretches, when nothing is looked for any more. */
void report_incident_tell(struct report_ranking *out, const struct report_axis *axis);

#endif
