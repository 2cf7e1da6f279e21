/* Room in the BPF programs' tables for what each CPU sets aside. */

#include "profiler/tracer/map_room.h"

#include <bpf/libbpf.h>

void map_room_for_cpus(struct bpf_object *object, unsigned int cpus)
{
	unsigned int more = MAP_ROOM_LRU_LOT * cpus;
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		unsigned int entries = bpf_map__max_entries(map);

		if (bpf_map__type(map) == BPF_MAP_TYPE_LRU_HASH && entries > 1)
			bpf_map__set_max_entries(map, entries + more);
	}
}

unsigned int map_room_owner_bits(unsigned int cpus)
{
	unsigned int bits = 15;

	for (; cpus > 16 && bits < 18; cpus /= 2)
		bits++;
	return bits;
}
