/* Makes files whose reads reach the disk, and drops them from the page cache. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/e2e/workload/coldfile.h"

#define CHUNK (1u << 20)
#define LIMIT (256u << 20)

#define DROPS         50
#define DROP_AGAIN_US 20000

uint64_t coldfile_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x;
}

void *coldfile_buffer(size_t bytes)
{
	uint64_t state = 88172645463325252ull;
	void *buffer = NULL;

	if (posix_memalign(&buffer, COLD_BLOCK, bytes))
		return NULL;
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		((uint64_t *)buffer)[i] = coldfile_random(&state);
	return buffer;
}

static int fill(int fd, size_t bytes)
{
	void *chunk = coldfile_buffer(CHUNK);
	int err = chunk ? 0 : -ENOMEM;

	for (size_t at = 0; !err && at < bytes; at += CHUNK) {
		ssize_t put = pwrite(fd, chunk, CHUNK, (off_t)at);

		if (put != (ssize_t)CHUNK)
			err = put < 0 ? -errno : -ENOSPC;
	}
	free(chunk);
	return !err && fsync(fd) ? -errno : err;
}

static ssize_t resident(int fd, size_t bytes)
{
	void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	ssize_t count = map == MAP_FAILED ? -errno : coldfile_resident(map, bytes);

	if (map != MAP_FAILED)
		munmap(map, bytes);
	return count;
}

/* Pages that somebody's sync() has in hand stay; a moment later they can be dropped, too. */
static int drop_all(int fd, size_t bytes)
{
	ssize_t left = 1;

	for (int i = 0; left > 0 && i < DROPS; i++) {
		int err = coldfile_drop(fd, bytes);

		if (err)
			return err;
		left = resident(fd, bytes);
		if (left > 0)
			usleep(DROP_AGAIN_US);
	}
	return left < 0 ? (int)left : 0;
}

int coldfile_make(const char *dir, const char *name, size_t bytes, int flags)
{
	char path[4096];
	int plain, fd = -1, err;

	if (bytes == 0 || bytes % CHUNK || bytes > LIMIT)
		return -EINVAL;
	if (snprintf(path, sizeof(path), "%s/%s.%d", dir, name, (int)getpid()) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	plain = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (plain < 0)
		return -errno;
	err = fill(plain, bytes);
	if (!err) {
		fd = open(path, O_RDWR | O_CLOEXEC | flags);
		err = fd < 0 ? -errno : drop_all(fd, bytes);
	}
	unlink(path);
	close(plain);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

int coldfile_drop(int fd, size_t bytes)
{
	return -posix_fadvise(fd, 0, (off_t)bytes, POSIX_FADV_DONTNEED);
}

ssize_t coldfile_resident(void *map, size_t bytes)
{
	size_t pages = (bytes + COLD_BLOCK - 1) / COLD_BLOCK;
	unsigned char *in_core = malloc(pages);
	ssize_t count = 0;

	if (!in_core)
		return -ENOMEM;
	if (mincore(map, bytes, in_core))
		count = -errno;
	for (size_t i = 0; count >= 0 && i < pages; i++)
		count += in_core[i] & 1;
	free(in_core);
	return count;
}
