/* Builds the path of a file below $XDG_CACHE_HOME or ~/.cache. */

#include "profiler/symbols/user_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool user_cache_path(const char *name, char *path, size_t size)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool has_xdg = xdg && *xdg == '/';
	struct stat st;
	int len;

	/* `sudo -E` leaves root the user's home: a folder of root's there would be in the way of all that the user runs. */
	if (!has_xdg && (!home || *home != '/' || stat(home, &st) || st.st_uid != geteuid()))
		return false;
	len = snprintf(path, size, "%s%s", has_xdg ? xdg : home, has_xdg ? "" : "/.cache");
	if (len < 0 || (size_t)len >= size)
		return false;
	mkdir(path, 0700); /* if that fails, so does whoever makes `name` in it, and says so */
	len = snprintf(path + len, size - (size_t)len, "/%s", name) + len;
	return len > 0 && (size_t)len < size;
}
