/* Looks in /proc/PID/pagemap whether pages are there, and of others in /proc/PID/maps what is mapped. */

#include "profiler/process/remote_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "symbolizer/base/maps.h"

/* Of an entry of /proc/PID/pagemap. */
#define PAGE_PRESENT  (1ULL << 63)
#define PAGE_IN_SWAP  (1ULL << 62)
#define PAGE_BYTES    4096
#define PAGES_AT_ONCE 32

/* The kernel's own mount of tmpfs, which nobody can mount a file system over or name a file in. */
static struct {
	pthread_once_t once;
	bool known;
	dev_t dev;
} kernels_own = { .once = PTHREAD_ONCE_INIT };

static void find_kernels_own(void)
{
	int fd = memfd_create("", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	kernels_own.known = !fstat(fd, &st);
	if (kernels_own.known)
		kernels_own.dev = st.st_dev;
	close(fd);
}

static bool is_in_memory(const struct maps_entry *entry)
{
	if (!entry->inode)
		return true;
	pthread_once(&kernels_own.once, find_kernels_own);
	return kernels_own.known && makedev(entry->dev_major, entry->dev_minor) == kernels_own.dev;
}

struct walk {
	const struct remote_pages *memory;
	uint64_t at, end; /* what lies before `at` can be read */
};

static int walk_on(const struct maps_entry *entry, void *context)
{
	struct walk *walk = context;

	if (entry->end <= walk->at)
		return 0;
	if (entry->start > walk->at)
		return 1;
	if (!is_in_memory(entry) &&
	    !(walk->memory->reads_file && walk->memory->reads_file(walk->memory->ctx, entry)))
		return 1;
	walk->at = entry->end;
	return walk->at >= walk->end;
}

static int open_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

size_t remote_pages_there(pid_t pid, uint64_t at, size_t bytes)
{
	uint64_t pages[PAGES_AT_ONCE], end, to = at;
	ssize_t got = sizeof(pages);
	int fd;

	if (__builtin_add_overflow(at, (uint64_t)bytes, &end))
		return 0;
	fd = open_proc(pid, "pagemap");
	while (fd >= 0 && to < end && got == (ssize_t)sizeof(pages)) {
		got = pread(fd, pages, sizeof(pages), (off_t)(to / PAGE_BYTES * sizeof(pages[0])));
		for (size_t i = 0; to < end && got >= (ssize_t)((i + 1) * sizeof(pages[0])); i++) {
			if (!(pages[i] & (PAGE_PRESENT | PAGE_IN_SWAP)))
				got = 0;
			else
				to = (to / PAGE_BYTES + 1) * PAGE_BYTES;
		}
	}
	if (fd >= 0)
		close(fd);
	return (size_t)((to < end ? to : end) - at);
}

size_t remote_pages_readable(const struct remote_pages *memory, uint64_t at, size_t bytes)
{
	struct walk walk = { .memory = memory, .at = at };
	int fd;

	if (__builtin_add_overflow(at, (uint64_t)bytes, &walk.end))
		return 0;
	if (!memory->pid)
		return bytes;
	fd = open_proc(memory->pid, "maps");
	if (fd < 0)
		return 0;
	maps_read(fd, walk_on, &walk, NULL);
	close(fd);
	return (size_t)((walk.at < walk.end ? walk.at : walk.end) - at);
}

int remote_pages_read(const struct remote_pages *memory, uint64_t at, void *buffer, size_t bytes)
{
	ssize_t got;

	if (at > INT64_MAX - bytes)
		return -EPROTO;
	if (remote_pages_readable(memory, at, bytes) < bytes)
		return -EIO;
	got = pread(memory->fd, buffer, bytes, (off_t)at);
	if (got < 0)
		return -errno;
	return (size_t)got == bytes ? 0 : -EPROTO;
}
