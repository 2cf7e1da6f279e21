/* Parses /proc/PID/stat. */

#include "symbolizer/base/process_stat.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name in field 2 may hold anything, so count from its last ')'. */
int process_stat_parse(const char *line, struct process_stat *out)
{
	uint64_t *wanted[] = {
		[4] = &out->parent, [20] = &out->threads, [22] = &out->start_ticks, [26] = &out->code_address
	};
	const char *at = strrchr(line, ')');
	int field;

	memset(out, 0, sizeof(*out));
	for (field = 2; at && field <= 26; field++) {
		if (field == 3)
			out->state = *at;
		else if (wanted[field])
			*wanted[field] = strtoull(at, NULL, 10);
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return field > 26 ? 0 : -EINVAL;
}

int process_stat_read(const char *proc, uint32_t pid, struct process_stat *out)
{
	char path[PATH_MAX], line[1024];
	FILE *file;

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "%s/%u/stat", proc, pid);
	file = fopen(path, "re");
	if (!file)
		return -ESRCH;
	line[fread(line, 1, sizeof(line) - 1, file)] = 0;
	fclose(file);
	return process_stat_parse(line, out) ? -ESRCH : 0;
}
