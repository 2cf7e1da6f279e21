/*
 * The processes that samples come from: (pid, start time) → its symbols, its name, its program.
 *
 * Made when the first sample or ledger row of a process arrives. Its mappings are read from /proc; for a process
 * that is gone by then they come from the live feed of exec_maps. The start time detects pid reuse: what is read of
 * another process is not taken for this one's.
 */
#ifndef STALLPROF_PROFILER_PROCESS_TABLE_H
#define STALLPROF_PROFILER_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exec_mapping;
struct exec_maps;
struct process_table;
struct sym_module;
struct sym_process;
struct symbolizer;

struct process {
	uint32_t pid;
	uint64_t start_ns;       /* CLOCK_BOOTTIME */
	struct sym_process *sym; /* NULL until a sample needs it */
	char comm[16];
	char program[256];         /* path of its executable, "" unknown */
	uint64_t code_address;     /* where its program is mapped; 0 unknown */
	bool python_looked;        /* looked at once more, as a stack had no Python frames */
	uint64_t refresh_after_ns; /* CLOCK_MONOTONIC; not to be refreshed before */
	uint64_t read_ns;          /* when its mappings were read last */
	bool pid_reused; /* another process had its pid when this was made: nothing is read by pid */
};

/* Both outlive the table; `maps` may be NULL. */
struct process_table *process_table_new(struct symbolizer *symbolizer, struct exec_maps *maps);
void process_table_free(struct process_table *table);

/* Finds the process or adds it. `comm` (may be NULL) is its name at the sample, as the kernel gave it. NULL without
 * memory. */
struct process *process_table_get(struct process_table *table, uint32_t pid, uint64_t start_ns,
                                  const char *comm);
/* Its symbols at that time (CLOCK_MONOTONIC), which may be those of a program that it ran before, until the next
 * process_table_tick() or _age(); reads its mappings if that was not done. NULL without memory. */
#define PROCESS_TABLE_NOW UINT64_MAX
struct sym_process *process_table_symbols(struct process_table *table, struct process *process,
                                          uint64_t at_ns);
/* Where its program is mapped, NULL when that is not known any more. Lives as long as the symbols. */
const struct sym_module *process_table_main_module(struct process_table *table, struct process *process);
/* Reads its mappings again; for when they changed, or an address was in none: then ask for its symbols again. After that
 * nothing is read for PROCESS_TABLE_REFRESH_REST times as long as the reading took. */
#define PROCESS_TABLE_REFRESH_REST 20
void process_table_refresh(struct process_table *table, struct process *process);

/* Its rank in a distributed job, PROCESS_RANK_NONE if it has none (process_ranks.h). Ask while the process is
 * alive: a known rank is remembered as long as it is asked for at least in every other window. */
uint32_t process_table_rank(struct process_table *table, uint32_t pid, uint64_t start_ns);

/* The process has mapped that at that time (CLOCK_MONOTONIC), has exited, or runs another program now. These and the sweep take NULL. */
void process_table_mapped(struct process_table *table, uint32_t pid, const struct exec_mapping *mapping,
                          uint64_t at_ns);
void process_table_exited(struct process_table *table, uint32_t pid);
void process_table_exec(struct process_table *table, uint32_t pid);

/* Looks at the next `n` processes in turn, whether they still run: writes the pids of those that have ended to `ended`, and
 * returns how many; those whose pid is another's by now have exited from then on. */
size_t process_table_sweep(struct process_table *table, size_t n, uint32_t *ended);

/* Forgets the symbols of processes that exited EXEC_MAPS_LINGER_NS before, so call it while none are in use; a stack that comes later
 * still has them read anew. `now_ns` is CLOCK_MONOTONIC. */
void process_table_tick(struct process_table *table, uint64_t now_ns);

/* Call at the end of a window: forgets processes that have exited and were not asked for since the last. */
void process_table_age(struct process_table *table);

#endif
