/* How fast the loop's steps come: before and in an incident, and whether they came more slowly where no more time was lost. */
#ifndef STALLPROF_PROFILER_REPORT_SLOW_STEPS_H
#define STALLPROF_PROFILER_REPORT_SLOW_STEPS_H

#include "profiler/report/report_ranking.h"
#include "profiler/report/report_view.h"

/* Fills the ranking's rates of steps; and, where no spike is its incident, or, if that `may_replace` it, one that cost far less, makes the longest stretch of slow steps it. `recent_ns`: as in
 * report_incident.h. 0 or -ENOMEM. */
int report_slow_steps_look(struct report_ranking *out, const struct report_view *view, uint64_t recent_ns,
                           bool may_replace);

/* Steps a second in another profile's quiet stretch; negative: not known. */
double report_slow_steps_given_rate(const struct report_view *other, const char *class);

#endif
