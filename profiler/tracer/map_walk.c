/* Walks over a BPF hash map's keys. */
#include "profiler/tracer/map_walk.h"

#include <bpf/bpf.h>
#include <stdbool.h>

/* Behind a key that is not in the map any more the kernel begins anew: so the next is asked for first, and there is a limit for
 * a map whose keys others delete meanwhile. */
void map_walk(int fd, uint32_t max, map_walk_fn on_key, void *ctx)
{
	uint64_t key, next = 0;
	bool more = !bpf_map_get_next_key(fd, NULL, &key);

	while (more && max--) {
		more = !bpf_map_get_next_key(fd, &key, &next);
		on_key(ctx, key);
		key = next;
	}
}
