/*
 * A run that was well only when it began.
 *
 * The baseline is a third of the run: where the good part is shorter, that is mostly of the bad one, and nothing stands out of it. So the
 * good part is looked for by itself: it lies in the first third, steps come half as fast again in it as they usually do later, and nowhere
 * else do they come nearly as fast.
 */
#ifndef STALLPROF_PROFILER_REPORT_EARLY_H
#define STALLPROF_PROFILER_REPORT_EARLY_H

#include "profiler/report/report_spikes.h"
#include "profiler/report/report_view.h"

/* Makes the good part the baseline, as places of `lost`, which is a series of the view's time. 1; 0: there is none, and the baseline is as
 * it was; or -ENOMEM. */
int report_early_find(struct report_baseline *baseline, const struct report_view *view,
                      const struct report_series *lost);

#endif
