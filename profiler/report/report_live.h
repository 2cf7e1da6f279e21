/*
 * Watches a recording for an incident that is going on: looked at once a second, by what the last window and the present
 * one say of lost time.
 *
 *     live = report_live_new(rest_ns)
 *     report_live_look(live, lanes)        each second: true: an incident worth a report has begun, and lasts
 *     report_live_keep(live, timeline)     at the end of a window: what comes after is compared with it
 *     report_live_window(live, &input)     the same where a report is to be made of it, or a class of tags is new
 *     report_live_free(live)
 *
 * An incident is worth a report once it has lasted REPORT_LIVE_LEAST_NS, one of a device's faults at once, and is told once. A wait that goes on shows only when it ends, or at a window's end.
 */
#ifndef STALLPROF_PROFILER_REPORT_LIVE_H
#define STALLPROF_PROFILER_REPORT_LIVE_H

#include <stdbool.h>
#include <stdint.h>

struct loaded_profiles;
struct report_hint;
struct report_live;
struct timeline;

#define REPORT_LIVE_LEAST_NS 2000000000ULL

/* `rest_ns`: after an incident's end, in which nothing is told. NULL with errno ENOMEM. */
struct report_live *report_live_new(uint64_t rest_ns);
void report_live_free(struct report_live *live);

/* `lanes`: the present window's timeline so far. Fills the hint for the report. */
bool report_live_look(struct report_live *live, const struct timeline *lanes, struct report_hint *hint);

/* Keeps the timeline, which it takes over, if all its classes are known from earlier windows; else false, and it stays the caller's. */
bool report_live_keep(struct report_live *live, struct timeline *timeline);

/* Adds what the window before says to the input's timeline, so that there is a baseline, and keeps the input's own
 * instead; lanes that there is no room for are left out. 0 or -ENOMEM. */
int report_live_window(struct report_live *live, struct loaded_profiles *input);

#endif
