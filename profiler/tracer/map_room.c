/* Room in the BPF programs' tables for what each CPU sets aside. */

#include "profiler/tracer/map_room.h"

#include <bpf/libbpf.h>

#define ELEMENT_BYTES 48 /* of the kernel's own, in front of key and value */

static size_t element_bytes(const struct bpf_map *map)
{
	return ELEMENT_BYTES + (bpf_map__key_size(map) + 7) / 8 * 8 + (bpf_map__value_size(map) + 7) / 8 * 8;
}

size_t map_room_for_cpus(struct bpf_object *object, unsigned int cpus)
{
	unsigned int more = MAP_ROOM_LRU_LOT * cpus;
	struct bpf_map *map;
	size_t bytes = 0;

	bpf_object__for_each_map(map, object)
	{
		unsigned int entries = bpf_map__max_entries(map);

		if (bpf_map__type(map) != BPF_MAP_TYPE_LRU_HASH || entries <= 1)
			continue;
		if (!bpf_map__set_max_entries(map, entries + more))
			bytes += more * element_bytes(map);
	}
	return bytes;
}
