/*
 * What made it worse: the causes of lost time in a profile's timeline, in the order of their score.
 *
 * An incident is a stretch in which more time is lost than usual, by report_spikes.h, or else one in which steps come more slowly
 * by three sigma, and a fifth at least, for two seconds, or else one in which a device's faults took time (report_faults.h). The symptom is the time that threads with pushed tags (or, without any, all tagged ones) lose: all that is not on the
 * CPU. A cause is a stall on a device, a kind of blocked wait, or the run queue, summed over these classes.
 *
 *     score = RANK_ALPHA * spike + (1 - RANK_ALPHA) * correlation
 *
 * spike: z / (z + 3), where z is how many sigmas the cause's mean in the incident is above its own baseline;
 * correlation: the largest of the cause's with the symptom at a lag of up to RANK_LAG_NS, at 100 Hz; neither is below 0.
 *
 * Stretches of the incident's primary cause that are up to RANK_JOIN_NS away from it belong to it; of the others the largest are looked into.
 *
 * The primary cause is the one with the highest score of those that took a quarter or more of what the one took that
 * grew most, where waits for other threads count only if nothing else did: what those threads wait for is the cause.
 */
#ifndef STALLPROF_PROFILER_REPORT_RANK_H
#define STALLPROF_PROFILER_REPORT_RANK_H

#include "profiler/report/report_ranking.h"

#define RANK_JOIN_NS   2000000000ULL
#define RANK_LOOK_INTO 16 /* stretches */

struct loaded_profiles;

/* Texts are the input's. `hint`: or NULL. `steps`: as report_view_open() has it. `baseline`: another profile to compare with, or NULL. 0; -ENODATA: the profile has no timeline, or
 * nothing in it; -ENOMEM. Only after 0 is there something to free. */
int report_rank(struct report_ranking *ranking, const struct loaded_profiles *input,
                const struct loaded_profiles *baseline, const char *steps, const struct report_hint *hint);
void report_ranking_free(struct report_ranking *ranking);

#endif
