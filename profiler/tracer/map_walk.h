/* Walks over a BPF hash map's keys while programs go on writing to it. */
#ifndef STALLPROF_PROFILER_MAP_WALK_H
#define STALLPROF_PROFILER_MAP_WALK_H

#include <stdint.h>

/* May delete the key that it is called with, and no other. */
typedef void (*map_walk_fn)(void *ctx, uint64_t key);

/* Calls `on_key` for each key of a hash map with keys of 8 bytes, at most `max` times. What is added meanwhile may be left out.
 * Costs a system call a key, beside those of `on_key`. */
void map_walk(int fd, uint32_t max, map_walk_fn on_key, void *ctx);

#endif
