/* The causes of lost time that a timeline and a ledger have, and what each took. */
#ifndef STALLPROF_PROFILER_REPORT_CAUSES_H
#define STALLPROF_PROFILER_REPORT_CAUSES_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/format/timeline.h"
#include "profiler/report/report_ranking.h"
#include "profiler/report/report_view.h"

/* Unscored, with the lane's texts. A wait on a CPU is of the same cause as one off it. */
struct report_cause report_cause_of_lane(const struct timeline_lane *lane);

bool report_cause_same(const struct report_cause *a, const struct report_cause *b);

/* Whether it is time that counts as lost to the cause, or the cause's signal. */
bool report_cause_has_lane(const struct report_cause *cause, const struct report_view *view,
                           const struct timeline_lane *lane);

/* Appends the cause, which may then be there several times: report_causes_unite() comes after. The caller has seen to the room: one for each lane,
 * each row of the ledger and each of the view's spins. */
void report_causes_add(struct report_cause *causes, size_t *count, const struct report_cause *cause);

/* Leaves each cause once, by kind, name and device. */
void report_causes_unite(struct report_cause *causes, size_t *count);

/* Adds those that the ledger has, and unites all: they may be in no lane, as waits without a sample are not. */
void report_causes_add_ledger(struct report_cause *causes, size_t *count, const struct report_view *view);

/* The highest score first. */
void report_causes_sort(struct report_cause *causes, size_t count);

/* Of causes that are united, makes excess_ns what each took in the whole run by the ledger, which is exact, but for waits of classes that idle; share and
 * of_loop its share of the wall time and of the loop's, score the larger of the two, felt the most that it may have cost the loop: its own share, waits
 * of the loop that others end, and what of the run is under none of its tags; and sorts them. */
void report_causes_share(struct report_cause *causes, size_t count, const struct report_view *view);

#endif
