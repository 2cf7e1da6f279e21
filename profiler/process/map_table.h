/*
 * pid → the executable mappings of that process, kept up to date from records of forks, execs, mappings
 * and exits.
 *
 *	map_table_fork(t, child, parent);	the child shares its parent's list until one changes it
 *	map_table_exec(t, pid, now);		its list is empty, and it has one thread
 *	map_table_add(t, pid, &mapping);	removes those that the new one covers
 *	map_table_exit(t, pid, tid, now);	what is known stays for the linger time
 *	map_table_expire(t, now);		removes it after that, and what it ran before an exec
 *
 * Everything is bounded; what did not fit is counted. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_MAP_TABLE_H
#define STALLPROF_PROFILER_MAP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/process/exec_mapping.h"

struct map_table;

#define MAP_TABLE_PROCESSES_MAX 65536
#define MAP_TABLE_FORMERS_MAX   64 /* former programs of a process */
#define MAP_TABLE_NAME_BYTES    16 /* as the kernel has it, with its NUL */

struct map_table_stats {
	uint64_t processes_refused, mappings_refused, mappings_dropped;
	size_t processes, mappings;
};

typedef void (*exec_mapping_fn)(void *ctx, const struct exec_mapping *mapping);

/* A process is kept for `linger_ns` after its exit, a program of it for `former_ns` after it executed another, if there
 * is room. NULL with errno ENOMEM. */
struct map_table *map_table_new(uint64_t linger_ns, uint64_t former_ns);
void map_table_free(struct map_table *table);

bool map_table_knows(const struct map_table *table, uint32_t pid);

/* Adds the process if it is not there, with an incomplete list: only mappings from now on are known (see
 * map_table_each). 0, -ENOSPC, -ENOMEM. */
int map_table_meet(struct map_table *table, uint32_t pid);
/* Marks its list as complete, after the missing mappings were added. */
void map_table_set_complete(struct map_table *table, uint32_t pid);

/* A parent that is not known makes the child's list incomplete. What was known of an older process with the child's
 * pid is dropped. -ENOSPC, -ENOMEM. */
int map_table_fork(struct map_table *table, uint32_t child, uint32_t parent);
int map_table_exec(struct map_table *table, uint32_t pid, uint64_t now_ns);
/* `mapping` is copied. -EINVAL: an empty range. */
int map_table_add(struct map_table *table, uint32_t pid, const struct exec_mapping *mapping);

/* The process's name (comm), which a forked child takes from its parent: cut to MAP_TABLE_NAME_BYTES - 1; "" when
 * it is not known. */
void map_table_set_name(struct map_table *table, uint32_t pid, const char *name);
const char *map_table_name(const struct map_table *table, uint32_t pid);

/* The process has one thread more. */
void map_table_thread(struct map_table *table, uint32_t pid);

/*
 * The process has one thread less. MAP_TABLE_ENDED: it was the last; MAP_TABLE_UNSURE: the leader or a thread after
 * it has ended, and nobody counted the threads: look whether there are others, and call map_table_end() if not.
 */
enum map_table_exit { MAP_TABLE_LIVES, MAP_TABLE_ENDED, MAP_TABLE_UNSURE };
enum map_table_exit map_table_exit(struct map_table *table, uint32_t pid, uint32_t tid, uint64_t now_ns);
void map_table_end(struct map_table *table, uint32_t pid, uint64_t now_ns);

void map_table_expire(struct map_table *table, uint64_t now_ns);

/* Records were lost: no list is known to be complete any more, and no thread count right. */
void map_table_distrust(struct map_table *table);

/* Calls `process` for each that is not marked as ended; map_table_end() may be called in it. */
void map_table_each_process(struct map_table *table, void (*process)(void *ctx, uint32_t pid), void *ctx);

/* Which program the process ran at that time: when it executed the one after it (the clock is that of
 * map_table_exec()). MAP_TABLE_PRESENT: it has executed none since, or is not known. */
#define MAP_TABLE_PRESENT 0
uint64_t map_table_image(const struct map_table *table, uint32_t pid, uint64_t at_ns);

/* Calls `mapping` for each mapping of that image, in the order in which they were made. 0: that is all; 1: there may
 * have been others; -ENOENT: nothing is known (any more). */
int map_table_each(const struct map_table *table, uint32_t pid, uint64_t image, exec_mapping_fn mapping,
                   void *ctx);

void map_table_stats(const struct map_table *table, struct map_table_stats *out);

#endif
