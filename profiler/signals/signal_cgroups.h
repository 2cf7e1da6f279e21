/*
 * The CPU quotas of processes' cgroups: how long each cgroup was held back. A process's cgroup is looked up again each time, as it may be
 * moved.
 */
#ifndef STALLPROF_PROFILER_SIGNAL_CGROUPS_H
#define STALLPROF_PROFILER_SIGNAL_CGROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "profiler/signals/signal_source.h"

#define SIGNAL_CGROUPS_MAX 8
#define SIGNAL_PIDS_MAX    16

struct signal_cgroups {
	uint32_t pids[SIGNAL_PIDS_MAX]; /* the latest ones */
	size_t next;
	struct signal_source
	        source[SIGNAL_CGROUPS_MAX]; /* their device is the cgroup's path, the end of it */
	char path[SIGNAL_CGROUPS_MAX][512];
	size_t count;
};

/* Adds a process. */
void signal_cgroups_follow(struct signal_cgroups *cgroups, uint32_t pid);

/* Finds the cgroups in which the processes are now, and opens what is new. */
void signal_cgroups_look(struct signal_cgroups *cgroups);
void signal_cgroups_close(struct signal_cgroups *cgroups);

#endif
