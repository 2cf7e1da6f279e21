/*
 * The names that a JIT compiler leaves in /tmp/perf-PID.map: "START SIZE name" a line, START and SIZE in hex.
 * The file grows while the program runs; where two lines overlap, the later one counts.
 */
#ifndef SYMBOLIZER_PERF_MAP_H
#define SYMBOLIZER_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_map;

/* Malformed lines are skipped. -EFBIG: over 64 MiB, or 2^20 lines; -ENODATA: no well-formed line. */
int perf_map_parse(const char *text, size_t len, struct perf_map **out);

/* The same from a file, whose last line counts once its newline is there. */
int perf_map_read(int fd, struct perf_map **out);

/* Reads what was added to the file. -ESTALE: it has another content now, and is to be read anew; -EFBIG; -ENOMEM. */
int perf_map_grow(struct perf_map *m, int fd);
void perf_map_free(struct perf_map *m);

size_t perf_map_memory(const struct perf_map *m);

/* NULL: no function there. The name lives until the map grows, or is freed. */
const char *perf_map_find(const struct perf_map *m, uint64_t address);

#endif
