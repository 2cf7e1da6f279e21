/*
 * Faults of a device: timeouts, aborts and resets of an NVMe controller, faults of an IOMMU. They are never usual, so that a stretch
 * of them is an incident even where no more time is lost than at other times.
 */
#ifndef STALLPROF_PROFILER_REPORT_FAULTS_H
#define STALLPROF_PROFILER_REPORT_FAULTS_H

#include "profiler/report/report_ranking.h"
#include "profiler/report/report_view.h"

/*
 * Makes the stretch in which faults took most time the ranking's incident, unless it has one: at least 100 ms in all, gaps of up to
 * two seconds belong to it. The symptom and the baseline are there. `recent_ns`: as report_incident_find() has it.
 * `wanted_ns`: the stretch at this Unix time is the incident whatever else there is; 0: none is wanted. 0 or -ENOMEM.
 */
int report_faults_find(struct report_ranking *out, const struct report_view *view, uint64_t wanted_ns,
                       uint64_t recent_ns);

#endif
