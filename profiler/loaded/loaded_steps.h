/*
 * How long the steps of a class take: exact tags of a process, each the sum of its rows.
 */
#ifndef STALLPROF_PROFILER_LOADED_STEPS_H
#define STALLPROF_PROFILER_LOADED_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger_row;

/* An exact tag of a process, or many that the ledger had no room for. */
struct loaded_step {
	void *of;                     /* its class */
	const struct ledger_row *row; /* one of its rows */
	int64_t wall_ns;
	bool inherited, alone; /* set here */
};

/* Percentiles, and the longest. */
struct loaded_step_times {
	int64_t p50_ns, p99_ns, worst_ns;
	const struct ledger_row *worst;
};

/*
 * Calls `take` for each class that has steps. `steps` come in the ledger's order (by tag, id, process), and are sorted
 * otherwise. Those of processes that were forked under a tag, and have none of the class's own, are no steps, but a part of their parent's:
 * a process with one step of a class, which is also one of a process that has several, of the same rank where they have ranks. 0 or -ENOMEM.
 */
int loaded_steps_take(struct loaded_step *steps, size_t n,
                      void (*take)(void *of, const struct loaded_step_times *times));

#endif
