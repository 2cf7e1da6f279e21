/* Looks for modules in /sys/module, and for file systems in /proc/self/mounts. */

#include "profiler/tracer/host_has.h"

#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool host_has_module(const char *module)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/%s", module);
	return !access(path, F_OK);
}

/* Only modules that were loaded have a state. */
bool host_loaded_module(const char *sys, const char *module)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/module/%s/initstate", sys, module);
	return !access(path, F_OK);
}

bool host_module_lacks_types(const char *sys, const char *module)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/kernel/btf/%s", sys, module);
	return access(path, F_OK) && host_loaded_module(sys, module);
}

bool host_has_mounted(const char *filesystem)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *mount;
	bool found = !mounts;

	while (mounts && !found && (mount = getmntent(mounts)))
		found = !strcmp(mount->mnt_type, filesystem);
	if (mounts)
		endmntent(mounts);
	return found;
}
