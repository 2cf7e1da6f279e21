/*
 * A direct write that waits, with the time it took; used by the small workloads. In a cgroup with a write
 * limit (tests/e2e/throttle.py) the wait lasts bytes / limit seconds.
 */
#ifndef WORKLOAD_STALLED_WRITE_H
#define WORKLOAD_STALLED_WRITE_H

#include <stddef.h>
#include <stdint.h>

struct stalled_write {
	int fd;
	void *buffer;
	size_t bytes;
};

/* A file of 1 MiB in dir (unlinked at once) and a buffer of `bytes` (a multiple of 4 KiB up to 1 MiB). 0 or
 * -errno. */
int stalled_write_open(struct stalled_write *write, const char *dir, size_t bytes);

/* Also closes half-opened ones. */
void stalled_write_close(struct stalled_write *write);

/* Writes once; adds the wall time of the call to *waited_ns (may be NULL). 0 or -errno. */
int stalled_write_once(const struct stalled_write *write, uint64_t *waited_ns);

#endif
