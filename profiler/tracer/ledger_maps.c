/* Swaps the ledger's two BPF maps, and reads and empties the one not written to. */

#include "profiler/tracer/ledger_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS_MAX 65536
#define BATCH    8192

struct ledger_maps {
	int outer_fd;
	int fd[2];
	unsigned int active;
	struct {
		struct abi_ledger_key key[BATCH];
		struct abi_ledger_value value[BATCH];
	} batch;
};

static int begin_window(struct ledger_maps *maps, unsigned int which, uint64_t window)
{
	struct abi_ledger_key meta = { .tag = ABI_LEDGER_META_TAG };
	struct abi_ledger_value value = { .ns = window };
	uint32_t zero = 0;

	if (bpf_map_update_elem(maps->fd[which], &meta, &value, BPF_ANY))
		return -errno;
	/* Changing an inner map waits until no program uses the old one any more. */
	if (bpf_map_update_elem(maps->outer_fd, &zero, &maps->fd[which], 0))
		return -errno;
	maps->active = which;
	return 0;
}

static int make(struct ledger_maps *maps)
{
	int i;

	for (i = 0; i < 2; i++) {
		maps->fd[i] = bpf_map_create(BPF_MAP_TYPE_HASH, "ledger", sizeof(struct abi_ledger_key),
		                             sizeof(struct abi_ledger_value), ROWS_MAX, NULL);
		if (maps->fd[i] < 0)
			return -errno;
	}
	return begin_window(maps, 0, 1);
}

struct ledger_maps *ledger_maps_new(int outer_fd)
{
	struct ledger_maps *maps = calloc(1, sizeof(*maps));
	int err;

	if (!maps)
		return NULL;
	maps->outer_fd = outer_fd;
	maps->fd[0] = maps->fd[1] = -1;
	err = make(maps);
	if (!err)
		return maps;
	ledger_maps_free(maps);
	errno = -err;
	return NULL;
}

void ledger_maps_free(struct ledger_maps *maps)
{
	int i;

	if (!maps)
		return;
	for (i = 0; i < 2; i++) {
		if (maps->fd[i] >= 0)
			close(maps->fd[i]);
	}
	free(maps);
}

/* Reads all rows of an inner map that no program uses any more, and empties it. */
static int drain(struct ledger_maps *maps, int fd, ledger_maps_row_fn on_row, void *ctx)
{
	uint32_t position, n, i;
	bool first = true, last = false;
	int result = 0;

	while (!last) {
		n = BATCH;
		last = bpf_map_lookup_and_delete_batch(fd, first ? NULL : &position, &position,
		                                       maps->batch.key, maps->batch.value, &n, NULL) != 0;
		if (last && errno != ENOENT)
			return -errno;
		first = false;
		for (i = 0; i < n && !result; i++) {
			if (maps->batch.key[i].tag != ABI_LEDGER_META_TAG)
				result = on_row(ctx, &maps->batch.key[i], &maps->batch.value[i]);
		}
	}
	return result;
}

int ledger_maps_take(struct ledger_maps *maps, uint64_t next, ledger_maps_row_fn on_row, void *ctx)
{
	unsigned int old = maps->active;
	int result = begin_window(maps, !old, next);

	return result ? result : drain(maps, maps->fd[old], on_row, ctx);
}

int ledger_maps_empty(const struct bpf_map *map)
{
	uint64_t key[LEDGER_MAPS_KEY_BYTES / sizeof(uint64_t)],
	        next[LEDGER_MAPS_KEY_BYTES / sizeof(uint64_t)];
	int fd = bpf_map__fd(map);
	bool more;

	if (bpf_map__key_size(map) > sizeof(key))
		return -E2BIG;
	/* The first key anew each time would be looked for through all that was emptied. */
	for (more = !bpf_map_get_next_key(fd, NULL, key); more; memcpy(key, next, sizeof(key))) {
		more = !bpf_map_get_next_key(fd, key, next);
		if (bpf_map_delete_elem(fd, key))
			break;
	}
	return 0;
}
