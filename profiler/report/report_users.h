/*
 * Who used the CPUs or the disk of the primary cause more than before, tagged or not: the culprit, where it is a process of this host.
 *
 *     struct report_user users[REPORT_USERS_MAX];
 *     size_t count = report_users_find(users, &report->ranking, report->input->timeline);
 */
#ifndef STALLPROF_PROFILER_REPORT_USERS_H
#define STALLPROF_PROFILER_REPORT_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "profiler/loaded/loaded_users.h"
#include "profiler/report/report_ranking.h"

struct loaded_profiles;

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

/* Who used the CPUs or the disk in the whole recording, grown or not: where these took most of the whole, or are the primary cause and that
 * is not `explained` by those that grew, or by a quota, heat or the virtual machine's host. Else the count is 0. */
void report_users_whole(struct loaded_users *users, const struct report_ranking *ranking,
                        const struct loaded_profiles *input, bool explained);

/* "fio (1234) and 3 more used 2.9 CPUs instead of 0.0", "fio (1234) had 210 MB/s of requests on vda instead of 0" */
void report_user_text(FILE *out, const struct report_user *user);

#endif
