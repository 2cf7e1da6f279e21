#include "profiler/half_written.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_left_over(const char *name)
{
	long long time;
	int pid, number, end = 0;

	if (sscanf(name, "stallprof-%lld.pb.gz.%d-%d.tmp%n", &time, &pid, &number, &end) != 3 || !end ||
	    name[end])
		return false;
	return pid > 0 && kill(pid, 0) < 0 && errno == ESRCH;
}

void half_written_remove(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (is_left_over(entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
}
