/*
 * Watches a recording for an incident that is going on: looked at once a second, by what the last window and the present
 * one say of lost time.
 *
 *     live = report_live_new(rest_ns)
 *     if (report_live_look(live, lanes, &hint))   each second: an incident has begun, and lasts
 *             end the window, for its report
 *     report_live_passed_over(live)               after each look
 *     report_live_keep(live, timeline)            at the end of a window: what comes after is compared with it
 *     report_live_window(live, &input)            the same where a report is to be made of it, or a class of tags is new
 *     report_live_again(live, &input, &hint)      then: whether what was told last is to be looked into once more
 *     report_live_settle(live, &ranking)          with what that report says: whether anybody is to be told
 *     report_live_free(live)
 *
 * An incident is looked into once it has lasted REPORT_LIVE_LEAST_NS, one of a device's faults at once. It is told, once, if
 * report_ranking_is_news(). That is known when its window has ended, as waits that go on show only then: so a window is ended for an
 * incident that no wait explains so far, but then not again for UNEXPLAINED_NS, and nothing comes to rest.
 *
 * It is looked into once more when the window after that one has ended, as its first seconds may mislead: it is told again
 * if it has another cause then.
 *
 * After the end of what was told nothing is told for `rest_ns`, but for what is much worse: REPORT_LIVE_WORSE times the lost time a
 * second, in the last REPORT_LIVE_LEAST_NS, where steps made the incident also so many times fewer of them, or a device's fault where
 * it was another cause. How bad it was is known twice REPORT_LIVE_LEAST_NS after it was told. Other incidents are passed over.
 */
#ifndef STALLPROF_PROFILER_REPORT_LIVE_H
#define STALLPROF_PROFILER_REPORT_LIVE_H

#include <stdbool.h>
#include <stdint.h>

struct loaded_profiles;
struct report_hint;
struct report_live;
struct report_ranking;
struct timeline;

#define REPORT_LIVE_LEAST_NS 2000000000ULL
#define REPORT_LIVE_WORSE    3

/* `rest_ns`: after an incident's end, in which nothing is told. NULL with errno ENOMEM. */
struct report_live *report_live_new(uint64_t rest_ns);
void report_live_free(struct report_live *live);

/* `lanes`: the present window's timeline so far. Fills the hint for the report. */
bool report_live_look(struct report_live *live, const struct timeline *lanes, struct report_hint *hint);

/* Nanoseconds for which no incident like the one that the last look found is told; 0: it found none, or one that earlier looks found,
 * too. */
uint64_t report_live_passed_over(const struct report_live *live);

/* Whether an incident was told in the window before this one, nothing in this one, and by the classes of that window it now has another
 * cause. Fills the hint for a report of it, of its first minute at most. The input has been report_live_window()'s. */
bool report_live_again(struct report_live *live, const struct loaded_profiles *input,
                       struct report_hint *hint);

/* Whether such a report is wanted at the end of this window: then its profile is to be read. */
bool report_live_wants(const struct report_live *live);

/* What the report of the incident that the last look found says. Whether it is to be told; if not, it is as if it was not found.
 * After report_live_again(): whether its cause is another than the one that was told. */
bool report_live_settle(struct report_live *live, const struct report_ranking *ranking);

/* Keeps the timeline, which it takes over, if all its classes are known from earlier windows; else false, and it stays the caller's. */
bool report_live_keep(struct report_live *live, struct timeline *timeline);

/* Adds what the window before says to the input's timeline, so that there is a baseline, and keeps the input's own
 * instead, or both where the last look found an incident; lanes that there is no room for are left out. 0 or -ENOMEM. */
int report_live_window(struct report_live *live, struct loaded_profiles *input);

#endif
