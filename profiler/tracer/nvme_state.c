/* Reads the states of NVMe controllers. */

#include "profiler/tracer/nvme_state.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static bool recovers(const char *folder, const char *controller)
{
	char path[512], state[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/state", folder, controller);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(state, sizeof(state), file))
		state[0] = '\0';
	fclose(file);
	return !strncmp(state, "resetting", 9) || !strncmp(state, "connecting", 10);
}

bool nvme_state_any_recovers(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	bool any = false;

	if (!dir)
		return false;
	while (!any && (entry = readdir(dir)) != NULL)
		any = entry->d_name[0] != '.' && recovers(folder, entry->d_name);
	closedir(dir);
	return any;
}
