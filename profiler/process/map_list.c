/* Lists of executable mappings, shared between a parent and its forked children. */

#include "profiler/process/map_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct interned_path {
	UT_hash_handle hh;
	size_t references;
	char text[];
};

struct map_list {
	size_t references, n, allocated;
	struct exec_mapping *mappings;
};

static struct interned_path *path_of_text(const char *text)
{
	return (struct interned_path *)(uintptr_t)(text - offsetof(struct interned_path, text));
}

static const char *intern(struct map_list_pool *pool, const char *text)
{
	size_t len = strlen(text);
	struct interned_path *path, *found = NULL;

	HASH_FIND(hh, pool->paths, text, len, path);
	if (path) {
		path->references++;
		return path->text;
	}
	path = malloc(sizeof(*path) + len + 1);
	if (!path)
		return NULL;
	memcpy(path->text, text, len + 1);
	path->references = 1;
	HASH_ADD_KEYPTR(hh, pool->paths, path->text, len, path);
	HASH_FIND(hh, pool->paths, text, len, found);
	if (found)
		return path->text;
	free(path);
	return NULL;
}

static void release(struct map_list_pool *pool, const char *text)
{
	struct interned_path *path = path_of_text(text);

	if (--path->references)
		return;
	HASH_DEL(pool->paths, path);
	free(path);
}

struct map_list *map_list_new(void)
{
	struct map_list *list = calloc(1, sizeof(*list));

	if (list)
		list->references = 1;
	return list;
}

struct map_list *map_list_share(struct map_list *list)
{
	list->references++;
	return list;
}

void map_list_drop(struct map_list_pool *pool, struct map_list *list)
{
	if (!list || --list->references)
		return;
	for (size_t i = 0; i < list->n; i++)
		release(pool, list->mappings[i].path);
	pool->n_mappings -= list->n;
	free(list->mappings);
	free(list);
}

/* A copy that nobody shares, or NULL. */
static struct map_list *copy(struct map_list_pool *pool, const struct map_list *list)
{
	struct map_list *own = map_list_new();

	if (!own || !list->n)
		return own;
	own->mappings = malloc((list->n + 1) * sizeof(*own->mappings));
	if (!own->mappings) {
		free(own);
		return NULL;
	}
	memcpy(own->mappings, list->mappings, list->n * sizeof(*own->mappings));
	own->n = list->n;
	own->allocated = list->n + 1;
	for (size_t i = 0; i < own->n; i++)
		path_of_text(own->mappings[i].path)->references++;
	pool->n_mappings += own->n;
	return own;
}

static void remove_at(struct map_list_pool *pool, struct map_list *list, size_t i)
{
	release(pool, list->mappings[i].path);
	memmove(&list->mappings[i], &list->mappings[i + 1], (list->n - i - 1) * sizeof(*list->mappings));
	list->n--;
	pool->n_mappings--;
}

static void remove_covered(struct map_list_pool *pool, struct map_list *list, const struct exec_mapping *by)
{
	for (size_t i = list->n; i-- > 0;)
		if (list->mappings[i].start >= by->start && list->mappings[i].end <= by->end)
			remove_at(pool, list, i);
}

static int reserve_one(struct map_list *list)
{
	size_t want = list->allocated ? list->allocated * 2 : 8;
	struct exec_mapping *grown;

	if (list->n < list->allocated)
		return 0;
	grown = realloc(list->mappings, want * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	list->mappings = grown;
	list->allocated = want;
	return 0;
}

static int own_list(struct map_list_pool *pool, struct map_list **list)
{
	struct map_list *own;

	if ((*list)->references == 1)
		return 0;
	if (pool->n_mappings + (*list)->n > MAP_TABLE_TOTAL_MAX)
		return -ENOSPC;
	own = copy(pool, *list);
	if (!own)
		return -ENOMEM;
	map_list_drop(pool, *list);
	*list = own;
	return 0;
}

int map_list_add(struct map_list_pool *pool, struct map_list **list, const struct exec_mapping *mapping)
{
	int err = own_list(pool, list), dropped = 0;
	const char *path;

	if (err)
		return err;
	remove_covered(pool, *list, mapping);
	if ((*list)->n == MAP_TABLE_MAPPINGS_MAX) {
		remove_at(pool, *list, 0);
		dropped = 1;
	}
	if (pool->n_mappings == MAP_TABLE_TOTAL_MAX)
		return -ENOSPC;
	err = reserve_one(*list);
	if (err)
		return err;
	path = intern(pool, mapping->path);
	if (!path)
		return -ENOMEM;
	(*list)->mappings[(*list)->n] = *mapping;
	(*list)->mappings[(*list)->n++].path = path;
	pool->n_mappings++;
	return dropped;
}

size_t map_list_count(const struct map_list *list)
{
	return list->n;
}

const struct exec_mapping *map_list_at(const struct map_list *list, size_t i)
{
	return &list->mappings[i];
}
