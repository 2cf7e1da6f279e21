/*
 * The CPU quotas of processes' cgroups: how long each cgroup was held back. A process's cgroup is looked up again each time, as it may be
 * moved.
 */
#ifndef STALLPROF_PROFILER_SIGNAL_CGROUPS_H
#define STALLPROF_PROFILER_SIGNAL_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/signals/signal_source.h"

/* Those above count, too: a pod of Kubernetes has two of its own, and two above it. */
#define SIGNAL_CGROUPS_MAX  64
#define SIGNAL_PIDS_MAX     16
#define SIGNAL_CGROUP_TURNS 10 /* looks after which a cgroup that no process was found in leaves its place */

struct signal_cgroups {
	uint32_t pids[SIGNAL_PIDS_MAX]; /* the latest ones */
	size_t next;
	struct signal_source
	        source[SIGNAL_CGROUPS_MAX]; /* their device is the cgroup's path, the end of it */
	char path[SIGNAL_CGROUPS_MAX][512];
	uint64_t seen[SIGNAL_CGROUPS_MAX]; /* the last look that found a process in it */
	size_t count;
	uint64_t looks;
	bool refused; /* the last look had no place for one */
	bool outside; /* it found one that lies outside of this thread's cgroup namespace */
};

/* In a container the cgroup of another one leads out of the container's namespace: from here on this thread sees it from the host's. Where that
 * is refused, as in a unit of systemd, the thread is there already. */
void signal_cgroups_see_all(void);

/* Adds a process. */
void signal_cgroups_follow(struct signal_cgroups *cgroups, uint32_t pid);

/* Finds the cgroups in which the processes are now, and opens what is new. `root`: "" but in tests, a folder in which /proc
 * and /sys are looked for. */
void signal_cgroups_look(struct signal_cgroups *cgroups, const char *root);
void signal_cgroups_close(struct signal_cgroups *cgroups);

#endif
