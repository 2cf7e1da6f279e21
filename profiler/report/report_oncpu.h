/*
 * Whose work grew where steps came more slowly: the class whose time on a CPU for each step is more than before. What it spun there for a GPU or for
 * other ranks is no work (report_spins.h).
 */
#ifndef STALLPROF_PROFILER_REPORT_ONCPU_H
#define STALLPROF_PROFILER_REPORT_ONCPU_H

#include <stdio.h>

#include "profiler/report/report_ranking.h"
#include "profiler/report/report_view.h"

/* Sets out->oncpu of an incident by steps, after its primary cause is chosen: where there is none, from 15 % of the time on by which a step
 * took longer, else from half of it. `other`: the given baseline; NULL: none. 0 or -ENOMEM. */
int report_oncpu_find(struct report_ranking *out, const struct report_view *view,
                      const struct report_view *other);

/* "data_load ran 45.2 ms on a CPU for each train_step instead of 1.30 ms"; there must be such a class. */
void report_oncpu_text(FILE *out, const struct report_ranking *ranking);

#endif
