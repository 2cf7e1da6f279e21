/* Reads how much memory there is, and what limits our cgroups have. */

#include "profiler/loaded/loaded_bound.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The number behind `format` in the first line that has it; 0: there is none, or no such file. */
static uint64_t read_number(const char *root, const char *path, const char *format)
{
	char whole[PATH_MAX], line[256];
	uint64_t number = 0;
	FILE *file;

	if (snprintf(whole, sizeof(whole), "%s%s", root, path) >= (int)sizeof(whole))
		return 0;
	file = fopen(whole, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file) && sscanf(line, format, &number) != 1)
		number = 0;
	fclose(file);
	return number;
}

/* Writes our cgroup's path of v2, "" where there is none or it is the root. */
static void read_cgroup(const char *root, char cgroup[PATH_MAX])
{
	char whole[PATH_MAX], line[PATH_MAX];
	FILE *file;

	*cgroup = '\0';
	if (snprintf(whole, sizeof(whole), "%s/proc/self/cgroup", root) >= (int)sizeof(whole))
		return;
	file = fopen(whole, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "0::/", 4))
			snprintf(cgroup, PATH_MAX, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
	fclose(file);
}

/* The lowest limit of our cgroup and those above it; UINT64_MAX: none. */
static uint64_t read_limit(const char *root)
{
	char cgroup[PATH_MAX], path[PATH_MAX + 64], *slash;
	uint64_t lowest = UINT64_MAX;

	read_cgroup(root, cgroup);
	do {
		uint64_t limit;

		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", cgroup);
		limit = read_number(root, path, "%" SCNu64);
		lowest = limit && limit < lowest ? limit : lowest;
		slash = strrchr(cgroup, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
	return lowest;
}

size_t loaded_bytes_max(const char *root)
{
	uint64_t part = read_number(root, "/proc/meminfo", "MemTotal: %" SCNu64 " kB") * 1024 / 4;
	uint64_t limit = read_limit(root) / 4;

	part = part > LOADED_BYTES_LEAST ? part : LOADED_BYTES_LEAST;
	return limit < part ? limit : part;
}

const char *loaded_reason(int error)
{
	return error == ENOSPC
	               ? "it would take more memory than profiles may (a quarter of the machine's, or of its "
	                 "cgroup's): name fewer files"
	               : strerror(error);
}
