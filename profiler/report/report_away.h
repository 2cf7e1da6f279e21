/*
 * When the tagged threads were not there: the program had ended, began anew, or did what has no tag. Nothing of that is judged, and it is
 * no part of a baseline, so it must be told.
 *
 * Where waits that are no stalls were not recorded (`waits: none`), who waits so cannot be told from who is not there.
 */
#ifndef STALLPROF_PROFILER_REPORT_AWAY_H
#define STALLPROF_PROFILER_REPORT_AWAY_H

#include <stdio.h>

#include "profiler/report/report_ranking.h"
#include "profiler/report/report_view.h"

/* Of what the profile covers, from the first tagged thread on: by whole seconds, and by what of the threads' usual time is missing in those
 * beside them; what several profiles leave out in between was not recorded, and nothing is told then, nor where the timeline was full. 0 or -ENOMEM. */
int report_away_find(struct report_away *away, const struct report_view *view);

/* A sentence without its full stop; there must be such time. */
void report_away_text(FILE *out, const struct report_away *away);

#endif
