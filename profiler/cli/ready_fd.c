/* Writes the line of `record --ready-fd`. */

#include "profiler/cli/ready_fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

bool ready_fd_take(int fd)
{
	return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

void ready_fd_tell(int fd)
{
	if (fd == READY_FD_NONE)
		return;
	dprintf(fd, "ready\n"); /* who does not read it any more does not need it */
	close(fd);
}
