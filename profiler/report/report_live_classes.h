/* What report_live.h keeps of a window's ledger: which classes there are, and what they are to the loop. */
#ifndef STALLPROF_PROFILER_REPORT_LIVE_CLASSES_H
#define STALLPROF_PROFILER_REPORT_LIVE_CLASSES_H

#include <stdbool.h>

struct ledger;
struct loaded_profiles;

/* Rows of which report_loop_find() makes the same loop and the same idle classes as of the input's. The caller's; NULL with errno ENOMEM. */
struct ledger *report_live_classes(const struct loaded_profiles *input);

bool report_live_has_class(struct ledger *classes, const char *class);

#endif
