/* Table of the processes that samples come from: names, symbols, mappings. */

#include "profiler/process/process_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "symbolizer/base/clock.h"
#include "profiler/process/exec_maps.h"
#include "profiler/process/mapping_changes.h"
#include "profiler/process/process_life.h"
#include "profiler/process/process_ranks.h"
#include "symbolizer/base/process_stat.h"
#include "symbolizer/symbolizer.h"

struct process_key {
	uint64_t start_ns;
	uint32_t pid, unused;
};

struct entry {
	struct process_key key;
	struct process process;
	bool used, exited;
	struct mapping_changes changes;
	uint64_t lingers_until_ns; /* CLOCK_MONOTONIC; 0: it does not */
	struct entry *prev, *next; /* of those that linger */
	UT_hash_handle hh, live;
};

/* Symbols of a program that a process ran before it executed another. */
struct former {
	const struct process *process;
	uint64_t image, lingers_until_ns; /* CLOCK_MONOTONIC */
	struct sym_process *sym;
	struct former *prev, *next;
};

#define FORMERS_MAX 64 /* one that was dropped is made again when it is needed */

struct process_table {
	struct symbolizer *symbolizer;
	struct exec_maps *maps;
	struct entry *by_key;
	struct entry *by_pid;    /* those that have not exited: one has a pid at a time */
	struct entry *swept;     /* of those, the next one to look at; NULL: the first */
	struct entry *lingering; /* those that have exited and may have symbols, the first one first */
	struct former *formers;  /* the first one that was made first */
	size_t n_formers;
	struct process_ranks *ranks; /* NULL without memory */
};

struct process_table *process_table_new(struct symbolizer *symbolizer, struct exec_maps *maps)
{
	struct process_table *table = calloc(1, sizeof(*table));

	if (table) {
		table->symbolizer = symbolizer;
		table->maps = maps;
		table->ranks = process_ranks_new();
	}
	return table;
}

static void linger(struct process_table *table, struct entry *entry)
{
	entry->exited = true;
	entry->lingers_until_ns = monotonic_ns() + EXEC_MAPS_LINGER_NS;
	DL_APPEND(table->lingering, entry);
}

static void drop_former(struct process_table *table, struct former *former)
{
	DL_DELETE(table->formers, former);
	table->n_formers--;
	symbolizer_process_drop(former->sym);
	free(former);
}

static void forget_symbols(struct process_table *table, struct entry *entry)
{
	struct former *former, *next;

	DL_FOREACH_SAFE (table->formers, former, next)
		if (former->process == &entry->process)
			drop_former(table, former);
	if (entry->lingers_until_ns)
		DL_DELETE(table->lingering, entry);
	entry->lingers_until_ns = 0;
	symbolizer_process_drop(entry->process.sym);
	entry->process.sym = NULL;
	mapping_changes_drop(&entry->changes);
}

/* It has exited, so its pid may be another's. */
static void free_pid(struct process_table *table, struct entry *entry)
{
	if (table->swept == entry)
		table->swept = entry->live.next;
	HASH_DELETE(live, table->by_pid, entry);
	linger(table, entry);
}

static void exited(struct process_table *table, struct entry *entry)
{
	struct former *former;

	free_pid(table, entry);
	if (entry->process.sym)
		symbolizer_process_exit(entry->process.sym);
	DL_FOREACH (table->formers, former)
		if (former->process == &entry->process)
			symbolizer_process_exit(former->sym);
}

static struct entry *find_live(const struct process_table *table, uint32_t pid)
{
	struct entry *entry = NULL;

	if (table)
		HASH_FIND(live, table->by_pid, &pid, sizeof(pid), entry);
	return entry;
}

static void drop(struct process_table *table, struct entry *entry)
{
	if (!entry->exited)
		free_pid(table, entry);
	HASH_DEL(table->by_key, entry);
	forget_symbols(table, entry);
	free(entry);
}

void process_table_free(struct process_table *table)
{
	struct entry *entry, *next;

	if (!table)
		return;
	HASH_ITER (hh, table->by_key, entry, next)
		drop(table, entry);
	process_ranks_free(table->ranks);
	free(table);
}

/* Reads the first line of a file of the process; leaves `out` alone when there is none. */
static void read_proc_line(uint32_t pid, const char *file, char *out, size_t size)
{
	char path[64], line[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (n <= 0)
		return;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	snprintf(out, size, "%.*s", (int)size - 1, line);
}

static void read_program(struct process *process)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/exe", process->pid);
	n = readlink(path, process->program, sizeof(process->program) - 1);
	process->program[n > 0 ? n : 0] = '\0';
}

/* The kernel rounds the start time down to ticks; one tick more is allowed. */
#define SLACK_TICKS 1

static uint64_t start_ticks(const struct process *process)
{
	return process->start_ns / (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* True if the process still runs. If it is gone, or its pid is another's, nothing is read. */
static bool read_identity(struct process *process)
{
	struct process_stat stat;

	process->program[0] = '\0';
	process->code_address = 0;
	if (process_stat_read("/proc", process->pid, &stat))
		return false;
	process->pid_reused = !process_life_started(&stat, start_ticks(process), SLACK_TICKS);
	if (process->pid_reused)
		return false;
	read_proc_line(process->pid, "comm", process->comm, sizeof(process->comm));
	read_program(process);
	process->code_address = stat.code_address;
	return !process_life_is_dead(&stat);
}

/* The name from the feed of mappings is the newest; that of an event may be from before an exec. */
static void take_name(struct process_table *table, struct process *process, const char *comm)
{
	const char *newest =
	        table->maps && !process->pid_reused ? exec_maps_name(table->maps, process->pid) : NULL;

	if (newest && *newest)
		comm = newest;
	if (comm)
		snprintf(process->comm, sizeof(process->comm), "%.15s", comm);
}

/* Whoever had its pid has exited, though nobody told. False without memory. */
static bool take_pid(struct process_table *table, struct entry *entry)
{
	struct entry *before = find_live(table, entry->key.pid);

	if (before)
		exited(table, before);
	HASH_ADD(live, table->by_pid, key.pid, sizeof(entry->key.pid), entry);
	return entry->live.tbl;
}

/* NULL without memory. */
static struct entry *add(struct process_table *table, const struct process_key *key)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	bool runs;

	if (!entry)
		return NULL;
	entry->key = *key;
	entry->process.pid = key->pid;
	entry->process.start_ns = key->start_ns;
	runs = read_identity(&entry->process);
	HASH_ADD(hh, table->by_key, key, sizeof(entry->key), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return NULL;
	}
	if (!runs) {
		linger(table, entry); /* its exit was reported before, and will not be again */
	} else if (!take_pid(table, entry)) {
		HASH_DEL(table->by_key, entry);
		free(entry);
		return NULL;
	}
	return entry;
}

struct process *process_table_get(struct process_table *table, uint32_t pid, uint64_t start_ns,
                                  const char *comm)
{
	struct process_key key = { .start_ns = start_ns, .pid = pid };
	struct entry *entry;

	HASH_FIND(hh, table->by_key, &key, sizeof(key), entry);
	if (!entry)
		entry = add(table, &key);
	if (!entry)
		return NULL;
	if (!entry->process.comm[0])
		take_name(table, &entry->process, comm);
	entry->used = true;
	return &entry->process;
}

static void feed_mapping(void *ctx, const struct exec_mapping *mapping)
{
	symbolizer_process_map(ctx, mapping->start, mapping->end, mapping->pgoff, mapping->dev_major,
	                       mapping->dev_minor, mapping->inode, mapping->path);
}

/* Reading the mappings takes longer the more there are, and each stack that cannot be unwound asks for it. */
void process_table_refresh(struct process_table *table, struct process *process)
{
	uint64_t began_ns = monotonic_ns();

	if (process->pid_reused || began_ns < process->refresh_after_ns)
		return;
	/* Its fork may have been reported while others' stacks were resolved. */
	if (table->maps)
		exec_maps_poll(table->maps);
	began_ns = process->read_ns = monotonic_ns();
	if (symbolizer_process_refresh(process->sym) && table->maps)
		exec_maps_feed(table->maps, process->pid, MAP_TABLE_PRESENT, feed_mapping, process->sym);
	process->refresh_after_ns = began_ns + (monotonic_ns() - began_ns) * PROCESS_TABLE_REFRESH_REST;
}

static struct sym_process *former_symbols(struct process_table *table, const struct process *process,
                                          uint64_t image)
{
	struct former *former;

	DL_FOREACH (table->formers, former)
		if (former->process == process && former->image == image)
			return former->sym;
	former = calloc(1, sizeof(*former));
	if (former)
		former->sym = symbolizer_process(table->symbolizer, process->pid, image);
	if (!former || !former->sym) {
		free(former);
		return NULL;
	}
	symbolizer_process_replaced(former->sym);
	exec_maps_feed(table->maps, process->pid, image, feed_mapping, former->sym);
	former->process = process;
	former->image = image;
	former->lingers_until_ns = monotonic_ns() + EXEC_MAPS_FORMER_NS;
	if (table->n_formers >= FORMERS_MAX)
		drop_former(table, table->formers);
	DL_APPEND(table->formers, former);
	table->n_formers++;
	return former->sym;
}

static struct sym_process *present_symbols(struct process_table *table, struct process *process)
{
	if (process->sym)
		return process->sym;
	process->sym = symbolizer_process(table->symbolizer, process->pid, process->start_ns);
	if (process->sym)
		process_table_refresh(table, process);
	return process->sym;
}

#define entry_of(member) ((struct entry *)((char *)(member)-offsetof(struct entry, process)))

struct sym_process *process_table_symbols(struct process_table *table, struct process *process,
                                          uint64_t at_ns)
{
	uint64_t image;

	if (!present_symbols(table, process) || !table->maps || process->pid_reused)
		return process->sym;
	exec_maps_reach(table->maps, at_ns);
	image = exec_maps_image(table->maps, process->pid, at_ns);
	if (image != MAP_TABLE_PRESENT)
		return former_symbols(table, process, image);
	mapping_changes_apply(&entry_of(process)->changes, process->sym, at_ns);
	if (symbolizer_process_is_stale(process->sym))
		process_table_refresh(table, process);
	if (exec_maps_settle(table->maps, process->read_ns, at_ns))
		image = exec_maps_image(table->maps, process->pid, at_ns);
	return image == MAP_TABLE_PRESENT ? process->sym : former_symbols(table, process, image);
}

const struct sym_module *process_table_main_module(struct process_table *table, struct process *process)
{
	struct sym_process *sym = present_symbols(table, process);
	struct sym_result result;

	if (!sym || !process->code_address || symbolizer_user(sym, process->code_address, false, &result))
		return NULL;
	return result.module;
}

void process_table_mapped(struct process_table *table, uint32_t pid, const struct exec_mapping *mapping,
                          uint64_t at_ns)
{
	struct entry *entry = find_live(table, pid);

	if (entry && entry->process.sym)
		mapping_changes_add(&entry->changes, entry->process.sym, mapping, at_ns);
}

void process_table_exited(struct process_table *table, uint32_t pid)
{
	struct entry *entry = find_live(table, pid);

	if (entry)
		exited(table, entry);
}

void process_table_exec(struct process_table *table, uint32_t pid)
{
	struct entry *entry = find_live(table, pid);

	if (table)
		process_ranks_exec(table->ranks, pid);
	if (!entry)
		return;
	entry->process.comm[0] = '\0';
	entry->process.python_looked = false;
	entry->process.refresh_after_ns = 0;
	mapping_changes_drop(&entry->changes);
	if (!read_identity(&entry->process))
		free_pid(table, entry);
	if (entry->process.sym)
		symbolizer_process_exec(entry->process.sym);
}

uint32_t process_table_rank(struct process_table *table, uint32_t pid, uint64_t start_ns)
{
	return process_ranks_of(table ? table->ranks : NULL, pid, start_ns);
}

size_t process_table_sweep(struct process_table *table, size_t n, uint32_t *ended)
{
	struct entry *entry = table && !table->swept ? table->by_pid : table ? table->swept : NULL;
	size_t found = 0;

	for (; entry && n; n--, entry = table->swept) {
		struct process *process = &entry->process;
		enum process_life life = process_life(process->pid, start_ticks(process), SLACK_TICKS);

		table->swept = entry->live.next;
		if (life == PROCESS_GONE) {
			ended[found++] = process->pid;
		} else if (life == PROCESS_ANOTHER) {
			process->pid_reused = true;
			exited(table, entry);
		}
	}
	return found;
}

void process_table_tick(struct process_table *table, uint64_t now_ns)
{
	while (table->lingering && table->lingering->lingers_until_ns <= now_ns)
		forget_symbols(table, table->lingering);
	while (table->formers && table->formers->lingers_until_ns <= now_ns)
		drop_former(table, table->formers);
}

void process_table_age(struct process_table *table)
{
	struct entry *entry, *next;

	process_ranks_age(table->ranks);
	HASH_ITER (hh, table->by_key, entry, next) {
		if (entry->exited && !entry->used)
			drop(table, entry);
		else
			entry->used = false;
	}
}
