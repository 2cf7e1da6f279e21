/*
 * Files whose reads and writes really reach the disk: written in full and synced, 4 KiB aligned buffers for O_DIRECT,
 * pages dropped from the cache and counted with mincore(), so that reads served from memory are noticed.
 */
#ifndef WORKLOAD_COLDFILE_H
#define WORKLOAD_COLDFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define COLD_BLOCK 4096u

/*
 * Makes DIR/NAME of exactly `bytes` (a multiple of 1 MiB, at most 256 MiB), every block written and synced,
 * so that later direct writes need no allocation and no journal. Returns a read-write descriptor opened with
 * `flags` added (O_DIRECT), or -errno. The path is unlinked at once: nothing is left behind, however the
 * process ends.
 */
int coldfile_make(const char *dir, const char *name, size_t bytes, int flags);

/* Drops the file's clean pages from the cache. 0 or -errno. */
int coldfile_drop(int fd, size_t bytes);

/* How many pages of the mapping are in the cache; -errno on error. */
ssize_t coldfile_resident(void *map, size_t bytes);

/* A buffer aligned for O_DIRECT, filled with a pattern that does not compress; NULL when out of memory. */
void *coldfile_buffer(size_t bytes);

/* The next number of a fixed sequence (xorshift), for offsets. The state must not be 0. */
uint64_t coldfile_random(uint64_t *state);

#endif
