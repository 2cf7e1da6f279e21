/* Walks a cgroup's folder and reads each cgroup.procs. */

#include "profiler/process/cgroup_processes.h"

#include <fts.h>
#include <limits.h>
#include <stdio.h>

static void read_processes(const char *folder, void (*found)(void *ctx, pid_t pid), void *ctx)
{
	char path[PATH_MAX + 16];
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	file = fopen(path, "re");
	if (!file)
		return;
	while (fscanf(file, "%d", &pid) == 1) {
		if (pid > 0)
			found(ctx, pid);
	}
	fclose(file);
}

void cgroup_processes(const char *path, void (*found)(void *ctx, pid_t pid), void *ctx)
{
	char *const roots[] = { (char *)path, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	const FTSENT *entry;

	while (walk && (entry = fts_read(walk))) {
		if (entry->fts_info == FTS_D)
			read_processes(entry->fts_path, found, ctx);
	}
	if (walk)
		fts_close(walk);
}
