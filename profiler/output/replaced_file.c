/* Tells files from what is written to as it is. */

#include "profiler/output/replaced_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the path is a link to an open file, as /dev/stdout and /dev/fd/5 are: once that file was replaced they lead nowhere. */
static bool is_open_file(const char *path)
{
	static const char proc[] = "/proc/";
	char target[sizeof(proc)] = "";
	struct stat link, procfs;

	if (lstat(path, &link) || !S_ISLNK(link.st_mode) || readlink(path, target, sizeof(target) - 1) < 0)
		return false;
	return !strcmp(target, proc) || (!stat(proc, &procfs) && link.st_dev == procfs.st_dev);
}

bool file_can_be_replaced(const char *path)
{
	struct stat st;

	if (is_open_file(path))
		return false;
	return stat(path, &st) < 0 ? errno == ENOENT : S_ISREG(st.st_mode);
}
