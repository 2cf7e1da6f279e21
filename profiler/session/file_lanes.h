/*
 * Threads that do what may hang in a file system: each file system has a queue and a thread of its own while there is anything to do, so
 * that one that hangs holds up nothing else.
 *
 *     lanes = file_lanes_new(&opts);
 *     if (!file_lanes_put(lanes, dev, item))           … no room: the item is still the caller's
 *     file_lanes_free(lanes);                          waits until all is done
 *
 * Thread-safe, but for file_lanes_free().
 */
#ifndef STALLPROF_PROFILER_FILE_LANES_H
#define STALLPROF_PROFILER_FILE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_LANES_MAX 16

struct file_lanes;

struct file_lanes_opts {
	size_t lanes_max;   /* threads at once: FILE_LANES_MAX at most */
	size_t waiting_max; /* items of one file system */
	void *ctx;
	void (*begin)(void);                 /* called first in each thread; may be NULL */
	void (*work)(void *ctx, void *item); /* takes the item over */
};

/* NULL with errno ENOMEM. */
struct file_lanes *file_lanes_new(const struct file_lanes_opts *opts);

/* Gives the item to the thread of that file system. False: it has too many already, or there are too many such. */
bool file_lanes_put(struct file_lanes *lanes, uint32_t dev, void *item);

/* Takes NULL. */
void file_lanes_free(struct file_lanes *lanes);

#endif
