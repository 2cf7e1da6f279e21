/* Finds cgroups with the CPU controller, and opens their cpu.stat. */

#include "profiler/signals/signal_cgroups.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
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

/* Whether it is open; then a process is in it now. */
static bool see_open(struct signal_cgroups *cgroups, const char *path)
{
	for (size_t i = 0; i < cgroups->count; i++) {
		if (!strcmp(cgroups->path[i], path)) {
			cgroups->seen[i] = cgroups->looks;
			return true;
		}
	}
	return false;
}

static bool is_there(const char *root, const char *path)
{
	char whole[PATH_MAX];

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	return !access(whole, F_OK);
}

/* The last part of a long path tells most. */
static void name_source(struct signal_source *source, const char *cgroup)
{
	size_t length = strlen(cgroup), room = sizeof(source->device) - 1;
	size_t shown = length < room ? length : room;

	memcpy(source->device, cgroup + length - shown, shown + 1);
}

/* False: there is no such file. */
static bool open_cgroup(struct signal_cgroups *cgroups, const char *root, const char *mount,
                        const char *cgroup)
{
	char path[512];
	struct signal_source opened;

	if (snprintf(path, sizeof(path), "%s%s/cpu.stat", mount, cgroup) >= (int)sizeof(path))
		return false;
	if (see_open(cgroups, path))
		return true;
	if (signal_source_open(&opened, root, &cpu_stat, path))
		return false;
	if (cgroups->count == SIGNAL_CGROUPS_MAX) {
		cgroups->refused = true;
		signal_source_close(&opened);
		return true;
	}
	name_source(&opened, cgroup);
	cgroups->source[cgroups->count] = opened;
	cgroups->seen[cgroups->count] = cgroups->looks;
	snprintf(cgroups->path[cgroups->count++], sizeof(cgroups->path[0]), "%s", path);
	return true;
}

/* The cgroup and those above it, each of which may have a quota. */
static void open_upwards(struct signal_cgroups *cgroups, const char *root, char *cgroup)
{
	static const char *const mounts[] = { "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct",
		                              "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

	for (char *slash = cgroup; slash && *cgroup && strcmp(cgroup, "/") != 0;) {
		for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++)
			if (open_cgroup(cgroups, root, mounts[i], cgroup))
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

void signal_cgroups_see_all(void)
{
	int ns = open("/proc/1/ns/cgroup", O_RDONLY | O_CLOEXEC);

	if (ns < 0)
		return;
	(void)!setns(ns, CLONE_NEWCGROUP);
	close(ns);
}

/* `path`: what /proc/PID/cgroup says. */
static void open_job(struct signal_cgroups *cgroups, const char *root, char *path)
{
	if (!strncmp(path, "/..", 3))
		cgroups->outside = true;
	else
		open_upwards(cgroups, root, path);
}

static bool look_at(struct signal_cgroups *cgroups, const char *root, uint32_t pid)
{
	char path[PATH_MAX], line[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/%u/cgroup", root, pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (has_cpu(line))
			open_job(cgroups, root, strchr(strchr(line, ':') + 1, ':') + 1);
	}
	fclose(file);
	return true;
}

/* Nothing can be read of one that is gone, though another with its name may be there. One that is left by all processes that
 * were followed lately, or by those that run, is not of interest any more. */
static bool is_over(const struct signal_cgroups *cgroups, const char *root, size_t i)
{
	const struct signal_source *source = &cgroups->source[i];

	return !is_there(root, cgroups->path[i]) || (source->reads && !source->has_last) ||
	       cgroups->looks - cgroups->seen[i] > SIGNAL_CGROUP_TURNS;
}

/* Its place is for another. */
static void drop_over(struct signal_cgroups *cgroups, const char *root)
{
	size_t n = 0;

	for (size_t i = 0; i < cgroups->count; i++) {
		if (is_over(cgroups, root, i)) {
			signal_source_close(&cgroups->source[i]);
			continue;
		}
		if (n != i) {
			cgroups->source[n] = cgroups->source[i];
			cgroups->seen[n] = cgroups->seen[i];
			memcpy(cgroups->path[n], cgroups->path[i], sizeof(cgroups->path[n]));
		}
		n++;
	}
	cgroups->count = n;
}

void signal_cgroups_look(struct signal_cgroups *cgroups, const char *root)
{
	cgroups->looks++;
	cgroups->refused = cgroups->outside = false;
	for (size_t i = 0; i < SIGNAL_PIDS_MAX; i++)
		if (cgroups->pids[i] && !look_at(cgroups, root, cgroups->pids[i]))
			cgroups->pids[i] = 0;
	drop_over(cgroups, root);
}

void signal_cgroups_close(struct signal_cgroups *cgroups)
{
	for (size_t i = 0; i < cgroups->count; i++)
		signal_source_close(&cgroups->source[i]);
	cgroups->count = 0;
}
