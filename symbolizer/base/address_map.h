/* A hash from addresses to small numbers, bounded. A zeroed `struct address_map` is empty. */
#ifndef SYMBOLIZER_ADDRESS_MAP_H
#define SYMBOLIZER_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_map {
	struct address_bucket *buckets;
	size_t n_buckets, n_used;
};

/* False when the address is not in the map. */
bool address_map_get(const struct address_map *m, uint64_t address, uint32_t *value);

/* Value must not be UINT32_MAX. -ENOSPC at `max` addresses: clear the map, or do without. */
int address_map_put(struct address_map *m, uint64_t address, uint32_t value, size_t max);

void address_map_clear(struct address_map *m);
size_t address_map_memory(const struct address_map *m);

#endif
