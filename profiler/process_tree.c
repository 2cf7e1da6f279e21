#include "profiler/process_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t process_tree_parent(uint32_t pid)
{
	char path[64], line[512];
	const char *name_end = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fgets(line, sizeof(line), file))
		name_end = strrchr(line, ')'); /* the name may hold anything */
	fclose(file);
	/* ") S PPID" */
	return name_end && strlen(name_end) > 4 ? strtoul(name_end + 4, NULL, 10) : 0;
}
