/*
 * Who used the CPUs or the disk of the primary cause more than before, tagged or not: the culprit, where it is a process of this host.
 *
 *     struct report_user users[REPORT_USERS_MAX];
 *     size_t count = report_users_find(users, &report->ranking, report->input->timeline);
 */
#ifndef STALLPROF_PROFILER_REPORT_USERS_H
#define STALLPROF_PROFILER_REPORT_USERS_H

#include <stddef.h>
#include <stdio.h>

#include "profiler/report/report_ranking.h"

#define REPORT_USERS_MAX 5

struct report_user {
	const char *process;   /* "fio (1234)", or "others": lives as long as the timeline */
	size_t more;           /* processes of that command, which are in the sums */
	const char *device;    /* of a disk; "": the CPUs */
	double before, during; /* CPUs, or bytes a second */
};

/* Those that grew by enough to matter, the one that grew most first; only for an incident whose primary cause is the CPUs or a disk, and
 * only if it is known what they did before: of a recording that is slow from its beginning on a given baseline does not say it.
 * Returns how many. */
size_t report_users_find(struct report_user users[REPORT_USERS_MAX], const struct report_ranking *ranking,
                         const struct timeline *timeline);

/* "fio (1234) and 3 more used 2.9 CPUs instead of 0.0", "fio (1234) had 210 MB/s of requests on vda instead of 0" */
void report_user_text(FILE *out, const struct report_user *user);

#endif
