/*
 * The ledger's two maps: the programs write to one while the other is read.
 *
 *     maps = ledger_maps_new(fd of the map of maps);       window 1 begins
 *     ledger_maps_take(maps, next, on_row, ctx);           window `next` begins; the rows of the one before
 *     ledger_maps_free(maps);
 */
#ifndef STALLPROF_PROFILER_LEDGER_MAPS_H
#define STALLPROF_PROFILER_LEDGER_MAPS_H

#include <stdint.h>

#include "bpf/abi.h"

struct bpf_map;
struct ledger_maps;

typedef int (*ledger_maps_row_fn)(void *ctx, const struct abi_ledger_key *key,
                                  const struct abi_ledger_value *value);

/* `outer_fd` stays the caller's, and must outlive it. NULL with errno set. */
struct ledger_maps *ledger_maps_new(int outer_fd);
void ledger_maps_free(struct ledger_maps *maps);

/* Begins window `next`, and empties the map of the one before, calling `on_row` for each row. 0, -errno, or what
 * `on_row` returned that was not 0. */
int ledger_maps_take(struct ledger_maps *maps, uint64_t next, ledger_maps_row_fn on_row, void *ctx);

/* Removes all entries of a hash map. 0; -E2BIG: its keys have more bytes than that, and nothing was removed. */
#define LEDGER_MAPS_KEY_BYTES 64
int ledger_maps_empty(const struct bpf_map *map);

#endif
