/*
 * A list of executable mappings, shared by the processes that have the same (a parent and its forked
 * children) until one of them changes its own. Paths are interned in a set that all lists of a table use.
 */
#ifndef STALLPROF_PROFILER_MAP_LIST_H
#define STALLPROF_PROFILER_MAP_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "profiler/process/exec_mapping.h"

#define MAP_TABLE_MAPPINGS_MAX 8192      /* of a process; beyond, the oldest is removed */
#define MAP_TABLE_TOTAL_MAX    (2 << 20) /* of all; shared ones count once */

struct map_list;

/* Owned by the table; all zero is empty. */
struct map_list_pool {
	struct interned_path *paths;
	size_t n_mappings;
};

/* Empty, with one reference; NULL without memory. */
struct map_list *map_list_new(void);
struct map_list *map_list_share(struct map_list *list);
void map_list_drop(struct map_list_pool *pool, struct map_list *list);

/*
 * Adds to *list, which is replaced by a copy if it is shared, and removes mappings that the new one covers. 1: the
 * oldest was removed, too, as there were MAP_TABLE_MAPPINGS_MAX; 0; -ENOSPC (MAP_TABLE_TOTAL_MAX); -ENOMEM.
 */
int map_list_add(struct map_list_pool *pool, struct map_list **list, const struct exec_mapping *mapping);

size_t map_list_count(const struct map_list *list);
const struct exec_mapping *map_list_at(const struct map_list *list, size_t i);

#endif
