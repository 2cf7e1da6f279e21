/*
 * How much of another process's memory can be read without waiting for anybody. A page of a mapped file that is not in memory comes from its
 * file system; any user can mount one of FUSE whose daemon never answers, and who reads such a page then waits for good, in the kernel, though the
 * same user's files could not even be opened by us. Memory without a file is safe, and so is the kernel's own (memfd, shared anonymous, System V).
 *
 * A limit: between the question and the read a process may map another file there, or a page that was there may go. Then we wait all the same.
 */
#ifndef STALLPROF_PROFILER_REMOTE_PAGES_H
#define STALLPROF_PROFILER_REMOTE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct maps_entry;

struct remote_pages {
	pid_t pid; /* 0: all that is behind `fd` can be read */
	int fd;    /* of /proc/PID/mem */
	/* Whether the pages of a file can be read, too; NULL: of none. */
	bool (*reads_file)(void *ctx, const struct maps_entry *entry);
	void *ctx;
};

/* How many of the `bytes` from `at` upwards can be, by a pass over /proc/PID/maps as far as these: 2 ms with 2,000 mappings. `fd` is not used. */
size_t remote_pages_readable(const struct remote_pages *memory, uint64_t at, size_t bytes);

/* How many of them lie on pages that are in memory or in swap, whatever they are of, as most do that a thread keeps its stack in: by
 * /proc/PID/pagemap, in some microseconds. */
size_t remote_pages_there(pid_t pid, uint64_t at, size_t bytes);

/* Reads all of them. 0; -EIO: not all of them are mapped, or can be read; -EPROTO: no address, or they ended meanwhile; -errno of reading. */
int remote_pages_read(const struct remote_pages *memory, uint64_t at, void *buffer, size_t bytes);

#endif
