/*
 * When the tagged threads were not there: the program had ended, began anew, or did what has no tag. Nothing of that is judged, and it is no part of a baseline,
 * so it must be told.
 *
 * Where waits that are no stalls were not recorded (`waits: none`), who waits so cannot be told from who is not there.
 */
#ifndef STALLPROF_PROFILER_REPORT_AWAY_H
#define STALLPROF_PROFILER_REPORT_AWAY_H

#include <stdint.h>
#include <stdio.h>

#include "profiler/report/report_view.h"

struct report_away {
	uint64_t ns; /* all stretches of REPORT_AWAY_NS and longer; 0: there is none, or it cannot be told */
	uint64_t begin_ns, end_ns; /* the longest, Unix time */
	size_t count;
	bool blind; /* no waits that are no stalls are in the timeline */
};

/* By whole seconds of what the profile covers; what several profiles leave out in between was not recorded, and nothing is told then.
 * 0 or -ENOMEM. */
int report_away_find(struct report_away *away, const struct report_view *view);

/* A sentence without its full stop; there must be such time. */
void report_away_text(FILE *out, const struct report_away *away);

#endif
