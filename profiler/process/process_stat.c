/* Parses /proc/PID/stat. */

#include "profiler/process/process_stat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name in field 2 may hold anything, so count from its last ')'. */
int process_stat_read(uint32_t pid, struct process_stat *out)
{
	uint64_t *wanted[] = {
		[4] = &out->parent, [20] = &out->threads, [22] = &out->start_ticks, [26] = &out->code_address
	};
	char path[64], line[1024];
	const char *at;
	FILE *file;
	int field;

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return -ESRCH;
	at = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	for (field = 2; at && field <= 26; field++) {
		if (field == 3)
			out->state = *at;
		else if (wanted[field])
			*wanted[field] = strtoull(at, NULL, 10);
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return field > 26 ? 0 : -ESRCH;
}
