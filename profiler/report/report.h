/*
 * The root-cause narrative of a recording: what got slower and when, which cause on which device took the time, the way
 * from the tag to it, what else was looked for, what to do next, and what could not be seen.
 *
 *     report_make(&report, &input, NULL, NULL, NULL)
 *     report_write(out, &report, REPORT_TEXT)     report_forms.h
 *     report_release(&report)
 */
#ifndef STALLPROF_PROFILER_REPORT_H
#define STALLPROF_PROFILER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/loaded/loaded_classes.h"
#include "profiler/loaded/loaded_wakers.h"
#include "profiler/report/report_jobs.h"
#include "profiler/report/report_path.h"
#include "profiler/report/report_rank.h"
#include "profiler/report/report_users.h"
#include "profiler/report/report_last_rank.h"
#include "profiler/report/report_loop.h"
#include "profiler/report/report_waits.h"

struct loaded_profiles;

struct report {
	const struct loaded_profiles *input;
	struct loaded_tags *tags;
	struct loaded_classes classes;
	struct report_ranking ranking;
	bool has_timeline; /* else ranking is empty: by the ledger alone nothing can be said of when */
	const struct loaded_class
	        *steps; /* whose tags are the steps of the loop; NULL: no class has several */
	struct report_loop loop;
	struct report_user users[REPORT_USERS_MAX];
	size_t user_count;
	struct loaded_users whole_users; /* in all of the recording */
	struct report_jobs jobs;
	struct report_last_rank last_rank; /* of one job */
	struct loaded_wakers wakers;
	struct report_wait wait;    /* what the loop waits for that is no stall */
	struct report_paths *paths; /* of the primary cause; NULL: there is none */
	const char *verdict; /* "disk pressure", "nothing" ...: a few words, the same for the same cause */
};

/*
 * `step_class`: the class of the steps; NULL: the pushed class with the word step in its name, else the one with most
 * tags. `hint`: when it was, if that is known; or NULL. Input and baseline (NULL: none) must outlive the report. 0; -ENOENT: no class of that name; -ENOMEM. Only after
 * 0 is there something to release.
 */
int report_make(struct report *report, const struct loaded_profiles *input,
                const struct loaded_profiles *baseline, const char *step_class,
                const struct report_hint *hint);
void report_release(struct report *report);

/* The primary cause's name, or REPORT_GIL where that is a lock, and most of it this one. There must be a primary cause. */
const char *report_primary_name(const struct report *report);

/* The signal of the host that stands out most in the primary cause's family and says what made it slow; NULL: none does. */
const struct report_cause *report_telling_signal(const struct report *report);

/* Whether the primary cause is the CPUs, signals of the host's CPUs were read, and none stands out. */
bool report_signals_silent(const struct report *report);

/* Whether a signal of the host stands out in the incident, together with the lost time. */
bool report_signal_found(const struct report *report, const struct report_cause *signal);

#endif
