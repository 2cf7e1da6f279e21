/* Finds cgroups with the CPU controller, and opens their cpu.stat. */

#include "profiler/signals/signal_cgroups.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/signals/signal_text.h"

#define RARELY 5 /* ticks */

/* Nanoseconds with cgroup v1, microseconds with v2. */
static bool parse_throttled(const char *text, uint64_t *value)
{
	if (signal_key(text, "throttled_usec", value))
		return true;
	if (!signal_key(text, "throttled_time", value))
		return false;
	*value /= 1000;
	return true;
}

static const struct signal_file cpu_stat = { "%s",
	                                     { { "cpu_throttled", parse_throttled, false, 1, 0, 0 } },
	                                     RARELY };

void signal_cgroups_follow(struct signal_cgroups *cgroups, uint32_t pid)
{
	for (size_t i = 0; i < SIGNAL_PIDS_MAX; i++)
		if (cgroups->pids[i] == pid)
			return;
	cgroups->pids[cgroups->next++ % SIGNAL_PIDS_MAX] = pid;
}

static bool is_open(const struct signal_cgroups *cgroups, const char *path)
{
	for (size_t i = 0; i < cgroups->count; i++)
		if (!strcmp(cgroups->path[i], path))
			return true;
	return false;
}

/* The last part of a long path tells most. */
static void name_source(struct signal_source *source, const char *cgroup)
{
	size_t length = strlen(cgroup), room = sizeof(source->device) - 1;
	size_t shown = length < room ? length : room;

	memcpy(source->device, cgroup + length - shown, shown + 1);
}

/* False: there is no such file. */
static bool open_cgroup(struct signal_cgroups *cgroups, const char *mount, const char *cgroup)
{
	char path[512];
	struct signal_source *source;

	if (snprintf(path, sizeof(path), "%s%s/cpu.stat", mount, cgroup) >= (int)sizeof(path))
		return false;
	if (is_open(cgroups, path))
		return true;
	if (cgroups->count == SIGNAL_CGROUPS_MAX)
		return false;
	source = &cgroups->source[cgroups->count];
	if (signal_source_open(source, "", &cpu_stat, path))
		return false;
	name_source(source, cgroup);
	snprintf(cgroups->path[cgroups->count++], sizeof(cgroups->path[0]), "%s", path);
	return true;
}

/* The cgroup and those above it, each of which may have a quota. */
static void open_upwards(struct signal_cgroups *cgroups, char *cgroup)
{
	static const char *const mounts[] = { "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct",
		                              "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

	for (char *slash = cgroup; slash && *cgroup && strcmp(cgroup, "/") != 0;) {
		for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++)
			if (open_cgroup(cgroups, mounts[i], cgroup))
				break;
		slash = strrchr(cgroup, '/');
		if (slash)
			*slash = '\0';
	}
}

/* A line is ID:CONTROLLERS:PATH; cgroup v2 names no controllers. */
static bool has_cpu(const char *line)
{
	const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

	if (!path)
		return false;
	if (path == names + 1)
		return true;
	for (const char *at = names + 1; at < path; at += strcspn(at, ",:") + 1)
		if (strcspn(at, ",:") == 3 && !strncmp(at, "cpu", 3))
			return true;
	return false;
}

static bool look_at(struct signal_cgroups *cgroups, uint32_t pid)
{
	char path[64], line[512];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (has_cpu(line))
			open_upwards(cgroups, strchr(strchr(line, ':') + 1, ':') + 1);
	}
	fclose(file);
	return true;
}

/* Nothing can be read of one that is gone, though another with its name may be there. */
static bool is_gone(const struct signal_cgroups *cgroups, size_t i)
{
	const struct signal_source *source = &cgroups->source[i];

	return access(cgroups->path[i], F_OK) || (source->reads && !source->has_last);
}

/* Its place is for another. */
static void drop_gone(struct signal_cgroups *cgroups)
{
	size_t n = 0;

	for (size_t i = 0; i < cgroups->count; i++) {
		if (is_gone(cgroups, i)) {
			signal_source_close(&cgroups->source[i]);
			continue;
		}
		if (n != i) {
			cgroups->source[n] = cgroups->source[i];
			memcpy(cgroups->path[n], cgroups->path[i], sizeof(cgroups->path[n]));
		}
		n++;
	}
	cgroups->count = n;
}

void signal_cgroups_look(struct signal_cgroups *cgroups)
{
	for (size_t i = 0; i < SIGNAL_PIDS_MAX; i++)
		if (cgroups->pids[i] && !look_at(cgroups, cgroups->pids[i]))
			cgroups->pids[i] = 0;
	drop_gone(cgroups);
}

void signal_cgroups_close(struct signal_cgroups *cgroups)
{
	for (size_t i = 0; i < cgroups->count; i++)
		signal_source_close(&cgroups->source[i]);
	cgroups->count = 0;
}
