/*
 * The names that a JIT compiler leaves in /tmp/perf-PID.map: "START SIZE name" a line, START and SIZE in hex.
 * The file grows while the program runs; where two lines overlap, the later one is right.
 */
#ifndef SYMBOLIZER_PERF_MAP_H
#define SYMBOLIZER_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_map;

/* Malformed lines are passed over. -EFBIG: over 256 MiB; -ENODATA: not one line that is right. */
int perf_map_parse(const char *text, size_t len, struct perf_map **out);
int perf_map_read(int fd, struct perf_map **out);
void perf_map_free(struct perf_map *m);

/* NULL: no function there. The name lives as long as the map. */
const char *perf_map_find(const struct perf_map *m, uint64_t address);

#endif
