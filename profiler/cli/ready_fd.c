/* Writes the line of `record --ready-fd`. */

#include "profiler/cli/ready_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

bool ready_fd_take(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

void ready_fd_tell(int fd)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	if (fd == READY_FD_NONE)
		return;
	/* Who does not read it any more does not need it, nor does one who lets a pipe run full: the recording waits for nobody. */
	if (poll(&room, 1, 0) > 0 && room.revents & POLLOUT)
		dprintf(fd, "ready\n");
	close(fd);
}
