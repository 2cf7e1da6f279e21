/* Watches processes by a pidfd each, and counts those that have not ended. */

#include "profiler/process/process_ends.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

struct process_ends {
	int epoll_fd;
	size_t left;
};

struct process_ends *process_ends_new(void)
{
	struct process_ends *ends = calloc(1, sizeof(*ends));

	if (!ends)
		return NULL;
	ends->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ends->epoll_fd >= 0)
		return ends;
	free(ends);
	return NULL;
}

/* The pidfds of processes that have not ended stay open until the program ends, which is soon. */
void process_ends_free(struct process_ends *ends)
{
	if (!ends)
		return;
	close(ends->epoll_fd);
	free(ends);
}

int process_ends_add(struct process_ends *ends, uint32_t pid)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), err;

	if (fd < 0)
		return -errno;
	event.data.fd = fd;
	if (!epoll_ctl(ends->epoll_fd, EPOLL_CTL_ADD, fd, &event)) {
		ends->left++;
		return 0;
	}
	err = -errno;
	close(fd);
	return err;
}

int process_ends_fd(const struct process_ends *ends)
{
	return ends->epoll_fd;
}

size_t process_ends_left(struct process_ends *ends)
{
	struct epoll_event event;

	while (epoll_wait(ends->epoll_fd, &event, 1, 0) == 1) {
		close(event.data.fd); /* which takes it out of the set */
		ends->left--;
	}
	return ends->left;
}
