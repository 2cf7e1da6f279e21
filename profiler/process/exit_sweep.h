/*
 * Finds processes that have ended without a word: their exits are not told where the kernel refuses the feed of
 * mappings, and not all are where that has lost records. Each would stay in the tables for ever, until these are full.
 *
 * At most EXIT_SWEEP_LOOKS processes of each table are looked at a second, one after the other, some 10 us each.
 */
#ifndef STALLPROF_PROFILER_EXIT_SWEEP_H
#define STALLPROF_PROFILER_EXIT_SWEEP_H

#include <stddef.h>
#include <stdint.h>

struct exec_maps;
struct followed_processes;
struct process_table;
struct python_processes;

#define EXIT_SWEEP_NS    1000000000ULL
#define EXIT_SWEEP_LOOKS 128
#define EXIT_SWEEP_MAX   (3 * (size_t)EXIT_SWEEP_LOOKS) /* that one call finds */

/* `maps`, `pythons` and `processes` may be NULL. */
struct exit_sweep {
	const struct exec_maps *maps;
	struct followed_processes *followed;
	struct python_processes *pythons;
	struct process_table *processes;
};

/* Call it often, with `next_ns` 0 at first. Returns how many it found, and their pids in `ended`, some of them more than
 * once: the caller takes them out of the tables. Of a process whose pid is another's by now it does that itself. */
size_t exit_sweep(const struct exit_sweep *tables, uint64_t now_ns, uint64_t *next_ns,
                  uint32_t ended[EXIT_SWEEP_MAX]);

#endif
