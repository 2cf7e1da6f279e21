/* Writes a block by O_DIRECT and measures how long the call waited. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/e2e/workload/clocks.h"
#include "tests/e2e/workload/coldfile.h"
#include "tests/e2e/workload/stalled_write.h"

#define FILE_BYTES (1u << 20)

int stalled_write_open(struct stalled_write *write, const char *dir, size_t bytes)
{
	int err = 0;

	if (!bytes || bytes % COLD_BLOCK || bytes > FILE_BYTES)
		return -EINVAL;
	write->bytes = bytes;
	write->buffer = coldfile_buffer(bytes);
	write->fd = coldfile_make(dir, "stalled-write", FILE_BYTES, O_DIRECT);
	if (write->fd < 0)
		err = write->fd;
	else if (!write->buffer)
		err = -ENOMEM;
	if (err)
		stalled_write_close(write);
	return err;
}

void stalled_write_close(struct stalled_write *write)
{
	free(write->buffer);
	if (write->fd >= 0)
		close(write->fd);
	write->buffer = NULL;
	write->fd = -1;
}

int stalled_write_once(const struct stalled_write *write, uint64_t *waited_ns)
{
	uint64_t began = monotonic_ns();
	ssize_t put = pwrite(write->fd, write->buffer, write->bytes, 0);
	int err = errno;

	if (waited_ns)
		*waited_ns += monotonic_ns() - began;
	if (put < 0)
		return -err;
	return (size_t)put == write->bytes ? 0 : -EIO;
}
