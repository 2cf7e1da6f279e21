/* Raises the soft limit on open files, and restores it for children. */

#include "profiler/session/open_files.h"

#include <stdbool.h>
#include <sys/resource.h>

static struct rlimit before;
static bool raised;

void open_files_raise(void)
{
	struct rlimit wanted;

	if (raised || getrlimit(RLIMIT_NOFILE, &before))
		return;
	wanted = before;
	wanted.rlim_cur = wanted.rlim_max;
	raised = setrlimit(RLIMIT_NOFILE, &wanted) == 0;
}

void open_files_restore(void)
{
	if (raised)
		setrlimit(RLIMIT_NOFILE, &before);
}
