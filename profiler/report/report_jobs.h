/*
 * Whether the loop's steps are of several jobs at once. Of a process a recording has its pid, when it began, and its rank if the environment
 * has one (process_ranks.h); nothing says which processes are one job. Processes of different ranks are taken for one. Two of the same rank are
 * one job that was begun anew, unless the second began while the first can't have ended, by the time that one thread of it had: then they may be
 * two jobs, and so may two without a rank. Or a launcher sets no ranks; or the first is a shell that has started the other, and then became its
 * next command by exec(): a process begins when it is forked. As the timeline tells classes apart, not processes, a report is of all of them.
 */
#ifndef STALLPROF_PROFILER_REPORT_JOBS_H
#define STALLPROF_PROFILER_REPORT_JOBS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ledger_row;
struct loaded_profiles;

#define REPORT_JOBS_SHOWN 3

struct report_jobs {
	size_t n; /* processes that ran side by side with one of the same rank, or of none as they; 0: none is known to */
	size_t ranks; /* that they have; 0: none has any */
	struct report_job {
		const struct ledger_row *process; /* a row of it */
		size_t steps;
		int64_t p50_ns, p99_ns;
	} job[REPORT_JOBS_SHOWN]; /* those whose steps took longest on average first */
	size_t shown;
};

/* `steps`: the class of the steps, or NULL. 0 or -ENOMEM. */
int report_jobs_find(struct report_jobs *jobs, const struct loaded_profiles *input, const char *steps);

/* Sentences; there must be such processes. */
void report_jobs_text(FILE *out, const struct report_jobs *jobs, const char *steps);

#endif
