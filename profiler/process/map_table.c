/* Hash table from pid to the process's executable mappings. */

#include "profiler/process/map_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "profiler/process/map_list.h"

#define THREADS_UNKNOWN 0

struct entry;

/* What a process ran before it executed another program. */
struct former {
	struct entry *of;
	uint64_t since_ns, until_ns;
	struct map_list *list;
	bool complete;
	struct former *prev, *next;    /* of the process, the newest first */
	struct former *before, *after; /* of all, in order of until_ns */
};

struct entry {
	uint32_t pid;
	uint32_t threads; /* THREADS_UNKNOWN: the process was there before us */
	bool complete, ended, leader_ended;
	uint64_t ended_ns;
	uint64_t since_ns; /* when it executed its program; 0: not seen */
	struct map_list *list;
	struct former *formers;
	char name[MAP_TABLE_NAME_BYTES];
	struct entry *prev, *next; /* among those that have ended, in order of time */
	UT_hash_handle hh;
};

struct map_table {
	struct entry *by_pid, *ended;
	struct former *formers;
	struct map_list_pool pool;
	uint64_t linger_ns, former_ns;
	struct map_table_stats stats;
};

struct map_table *map_table_new(uint64_t linger_ns, uint64_t former_ns)
{
	struct map_table *table = calloc(1, sizeof(*table));

	if (table) {
		table->linger_ns = linger_ns;
		table->former_ns = former_ns;
	}
	return table;
}

static struct entry *find(const struct map_table *table, uint32_t pid)
{
	struct entry *entry;

	HASH_FIND(hh, table->by_pid, &pid, sizeof(pid), entry);
	return entry;
}

static void drop_former(struct map_table *table, struct former *former)
{
	DL_DELETE(former->of->formers, former);
	DL_DELETE2(table->formers, former, before, after);
	map_list_drop(&table->pool, former->list);
	free(former);
}

static void drop(struct map_table *table, struct entry *entry)
{
	while (entry->formers)
		drop_former(table, entry->formers);
	if (entry->ended)
		DL_DELETE(table->ended, entry);
	HASH_DEL(table->by_pid, entry);
	map_list_drop(&table->pool, entry->list);
	free(entry);
}

void map_table_free(struct map_table *table)
{
	struct entry *entry, *next;

	if (!table)
		return;
	HASH_ITER (hh, table->by_pid, entry, next)
		drop(table, entry);
	free(table);
}

bool map_table_knows(const struct map_table *table, uint32_t pid)
{
	return find(table, pid);
}

/* Takes over `list`, also when it fails. */
static int add_entry(struct map_table *table, uint32_t pid, struct map_list *list, struct entry **out)
{
	struct entry *entry = NULL;
	int err = -ENOMEM;

	if (HASH_COUNT(table->by_pid) >= MAP_TABLE_PROCESSES_MAX && table->ended)
		drop(table, table->ended);
	if (HASH_COUNT(table->by_pid) >= MAP_TABLE_PROCESSES_MAX)
		err = -ENOSPC;
	else if (list)
		entry = calloc(1, sizeof(*entry));
	if (entry) {
		entry->pid = pid;
		entry->list = list;
		HASH_ADD(hh, table->by_pid, pid, sizeof(entry->pid), entry);
		*out = find(table, pid);
		if (*out)
			return 0;
		free(entry);
	}
	map_list_drop(&table->pool, list);
	table->stats.processes_refused++;
	return err;
}

static void revive(struct map_table *table, struct entry *entry)
{
	if (entry->ended)
		DL_DELETE(table->ended, entry);
	entry->ended = false;
}

/* The entry of a process that something has just happened to; made when it is new. */
static int entry_of(struct map_table *table, uint32_t pid, struct entry **out)
{
	*out = find(table, pid);
	if (!*out)
		return add_entry(table, pid, map_list_new(), out);
	revive(table, *out);
	return 0;
}

int map_table_meet(struct map_table *table, uint32_t pid)
{
	struct entry *entry;

	return entry_of(table, pid, &entry);
}

void map_table_set_complete(struct map_table *table, uint32_t pid)
{
	struct entry *entry = find(table, pid);

	if (entry)
		entry->complete = true;
}

int map_table_fork(struct map_table *table, uint32_t child, uint32_t parent)
{
	struct entry *old = find(table, child), *from, *entry;
	int err;

	if (child == parent)
		return -EINVAL;
	if (old)
		drop(table, old);
	from = find(table, parent);
	err = add_entry(table, child, from ? map_list_share(from->list) : map_list_new(), &entry);
	if (err)
		return err;
	from = find(table, parent);
	entry->threads = 1;
	entry->complete = from && from->complete;
	if (from)
		memcpy(entry->name, from->name, sizeof(entry->name));
	return 0;
}

/* Moves the entry's list to a former one. False without memory. */
static bool retire(struct map_table *table, struct entry *entry, uint64_t now_ns)
{
	struct former *former = calloc(1, sizeof(*former)), *other;
	unsigned int n;

	if (!former)
		return false;
	former->of = entry;
	former->since_ns = entry->since_ns;
	former->until_ns = now_ns;
	former->list = entry->list;
	former->complete = entry->complete;
	DL_PREPEND(entry->formers, former);
	DL_APPEND2(table->formers, former, before, after);
	DL_COUNT(entry->formers, other, n);
	if (n > MAP_TABLE_FORMERS_MAX)
		drop_former(table, entry->formers->prev);
	return true;
}

int map_table_exec(struct map_table *table, uint32_t pid, uint64_t now_ns)
{
	struct map_list *empty;
	struct entry *entry;
	int err = entry_of(table, pid, &entry);

	if (err)
		return err;
	empty = map_list_new();
	if (!empty)
		return -ENOMEM;
	if (!retire(table, entry, now_ns))
		map_list_drop(&table->pool, entry->list);
	entry->list = empty;
	entry->complete = true;
	entry->since_ns = now_ns;
	/* The thread that executes has ended all others, and is the leader now if it was not. */
	entry->threads = 1;
	entry->leader_ended = false;
	return 0;
}

/* The oldest goes where there is no room for what runs now. False: there is none. */
static bool give_up_former(struct map_table *table)
{
	if (!table->formers)
		return false;
	drop_former(table, table->formers);
	return true;
}

int map_table_add(struct map_table *table, uint32_t pid, const struct exec_mapping *mapping)
{
	struct entry *entry;
	int err;

	if (mapping->start >= mapping->end)
		return -EINVAL;
	err = entry_of(table, pid, &entry);
	if (err)
		return err;
	do
		err = map_list_add(&table->pool, &entry->list, mapping);
	while (err == -ENOSPC && give_up_former(table));
	if (err < 0) {
		table->stats.mappings_refused++;
		entry->complete = false;
		return err;
	}
	table->stats.mappings_dropped += (uint64_t)err;
	return 0;
}

void map_table_set_name(struct map_table *table, uint32_t pid, const char *name)
{
	struct entry *entry = find(table, pid);

	if (entry)
		snprintf(entry->name, sizeof(entry->name), "%s", name);
}

const char *map_table_name(const struct map_table *table, uint32_t pid)
{
	const struct entry *entry = find(table, pid);

	return entry ? entry->name : "";
}

void map_table_thread(struct map_table *table, uint32_t pid)
{
	struct entry *entry = find(table, pid);

	if (!entry)
		return;
	revive(table, entry);
	if (entry->threads != THREADS_UNKNOWN)
		entry->threads++;
}

enum map_table_exit map_table_exit(struct map_table *table, uint32_t pid, uint32_t tid, uint64_t now_ns)
{
	struct entry *entry = find(table, pid);
	bool last;

	if (entry && entry->ended)
		return MAP_TABLE_LIVES;
	if (!entry || entry->threads == THREADS_UNKNOWN) {
		if (entry && pid == tid)
			entry->leader_ended = true;
		return pid == tid || (entry && entry->leader_ended) ? MAP_TABLE_UNSURE : MAP_TABLE_LIVES;
	}
	last = entry->threads == 1;
	if (!last)
		entry->threads--;
	else
		map_table_end(table, pid, now_ns);
	return last ? MAP_TABLE_ENDED : MAP_TABLE_LIVES;
}

void map_table_end(struct map_table *table, uint32_t pid, uint64_t now_ns)
{
	struct entry *entry = find(table, pid);

	if (!entry || entry->ended)
		return;
	entry->ended = true;
	entry->ended_ns = now_ns;
	DL_APPEND(table->ended, entry);
}

static bool has_passed(uint64_t ns, uint64_t since_ns, uint64_t now_ns)
{
	return now_ns > since_ns && now_ns - since_ns > ns;
}

void map_table_expire(struct map_table *table, uint64_t now_ns)
{
	while (table->ended && has_passed(table->linger_ns, table->ended->ended_ns, now_ns))
		drop(table, table->ended);
	while (table->formers && has_passed(table->former_ns, table->formers->until_ns, now_ns))
		drop_former(table, table->formers);
}

void map_table_distrust(struct map_table *table)
{
	struct entry *entry, *next;

	HASH_ITER (hh, table->by_pid, entry, next) {
		entry->complete = false;
		entry->threads = THREADS_UNKNOWN;
	}
}

void map_table_each_process(struct map_table *table, void (*process)(void *ctx, uint32_t pid), void *ctx)
{
	struct entry *entry, *next;

	HASH_ITER (hh, table->by_pid, entry, next)
		if (!entry->ended)
			process(ctx, entry->pid);
}

uint64_t map_table_image(const struct map_table *table, uint32_t pid, uint64_t at_ns)
{
	const struct entry *entry = find(table, pid);
	const struct former *former;
	uint64_t until_ns;

	if (!entry || at_ns >= entry->since_ns)
		return MAP_TABLE_PRESENT;
	until_ns = entry->since_ns;
	DL_FOREACH (entry->formers, former) {
		if (former->until_ns != until_ns || at_ns >= former->since_ns)
			break;
		until_ns = former->since_ns;
	}
	return until_ns;
}

static int each_of(const struct map_list *list, bool complete, exec_mapping_fn mapping, void *ctx)
{
	for (size_t i = 0; i < map_list_count(list); i++)
		mapping(ctx, map_list_at(list, i));
	return complete ? 0 : 1;
}

int map_table_each(const struct map_table *table, uint32_t pid, uint64_t image, exec_mapping_fn mapping,
                   void *ctx)
{
	const struct entry *entry = find(table, pid);
	const struct former *former = NULL;

	if (entry && image == MAP_TABLE_PRESENT)
		return each_of(entry->list, entry->complete, mapping, ctx);
	if (entry)
		DL_SEARCH_SCALAR(entry->formers, former, until_ns, image);
	return former ? each_of(former->list, former->complete, mapping, ctx) : -ENOENT;
}

void map_table_stats(const struct map_table *table, struct map_table_stats *out)
{
	*out = table->stats;
	out->processes = HASH_COUNT(table->by_pid);
	out->mappings = table->pool.n_mappings;
}
