/* Builds the path of a file below $XDG_CACHE_HOME or ~/.cache. */

#include "profiler/symbols/user_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

bool user_cache_path(const char *name, char *path, size_t size)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool has_xdg = xdg && *xdg == '/';
	int len;

	if (!has_xdg && (!home || *home != '/'))
		return false;
	len = snprintf(path, size, "%s%s", has_xdg ? xdg : home, has_xdg ? "" : "/.cache");
	if (len < 0 || (size_t)len >= size)
		return false;
	mkdir(path, 0700); /* if that fails, so does whoever makes `name` in it, and says so */
	len = snprintf(path + len, size - (size_t)len, "/%s", name) + len;
	return len > 0 && (size_t)len < size;
}
