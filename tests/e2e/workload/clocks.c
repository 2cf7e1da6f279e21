/* Reads a thread's wall, CPU and run-queue clocks together. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/e2e/workload/clocks.h"

#define DISTURBED_NS   20000
#define MOST_REREADS   8
#define NS_PER_SEC     1000000000ull
#define STAT_BLKIO_POS 42

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t realtime_offset_ns(void)
{
	return (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC));
}

/* The file is read at offset 0 through one descriptor: the kernel writes it anew each time. */
static int runqueue_read(int fd, uint64_t *delay_ns)
{
	char text[96], *second;
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return len ? -errno : -ENODATA;
	text[len] = '\0';
	second = strchr(text, ' ');
	if (!second)
		return -ENODATA;
	*delay_ns = strtoull(second, NULL, 10);
	return 0;
}

int thread_clock_open(struct thread_clock *clock)
{
	struct moment now;

	clock->reread = 0;
	clock->schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (clock->schedstat_fd < 0)
		return -errno;
	return thread_clock_read(clock, &now);
}

void thread_clock_close(struct thread_clock *clock)
{
	if (clock->schedstat_fd >= 0)
		close(clock->schedstat_fd);
	clock->schedstat_fd = -1;
}

int thread_clock_read(struct thread_clock *clock, struct moment *now)
{
	now->first_ns = monotonic_ns();
	for (int i = 0; i < MOST_REREADS; i++) {
		uint64_t began = i ? monotonic_ns() : now->first_ns;
		int err = runqueue_read(clock->schedstat_fd, &now->runqueue_ns);

		if (err)
			return err;
		now->cpu_ns = thread_cpu_ns();
		now->wall_ns = monotonic_ns();
		if (now->wall_ns - began < DISTURBED_NS)
			break;
		clock->reread++;
	}
	return 0;
}

/* Fields are counted after the command's name, which may hold spaces and ends at the last ')'. */
uint64_t thread_blkio_delay_ns(void)
{
	char text[1024], *at = NULL;
	int fd = open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (len > 0) {
		text[len] = '\0';
		at = strrchr(text, ')');
	}
	for (int field = 2; at && field < STAT_BLKIO_POS; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) * (NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK)) : 0;
}

uint64_t stolen_ns(void)
{
	uint64_t steal = 0;
	FILE *file = fopen("/proc/stat", "re");

	if (!file)
		return 0;
	if (fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &steal) != 1)
		steal = 0;
	fclose(file);
	return steal * (NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}
