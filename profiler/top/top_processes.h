/*
 * What a process spends its tagged time on: the classes of tags that its threads push, as shares of their sum,
 * where that sum is no more than the time covered, nor than the timeline has room for while the process lived (top_parallel.h). A training
 * loop that loads, trains and writes checkpoints in turn is such a process, and these are the shares of its loop. As
 * the ledger has no threads, several threads that have little to do look the same.
 *
 *     Of the 41.7 s under tags in process 4711, one thread's worth: train_step 90.6 %, checkpoint_write 5.5 %,
 *       data_load 3.9 %.
 */
#ifndef STALLPROF_PROFILER_TOP_PROCESSES_H
#define STALLPROF_PROFILER_TOP_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ledger_row;
struct loaded_profiles;

struct top_process_class {
	const char *name;
	int64_t ns;
	const struct ledger_row *row; /* one of its rows */
};

/* A process with two such classes or more, of which the longest is not nearly all. */
struct top_process {
	const struct ledger_row *row; /* one of its rows */
	int64_t ns;                   /* the sum */
	struct top_process_class *classes;
	size_t count; /* the longest first */
};

struct top_processes {
	struct top_process *processes; /* the longest first */
	size_t count;
	struct top_process_class *memory;
};

/* Texts are the ledger's own. 0 or -ENOMEM; only after 0 is there something to free. */
int top_processes_build(struct top_processes *processes, const struct loaded_profiles *input);
void top_processes_free(struct top_processes *processes);

/* Whether one of them has the class. `processes` may be NULL. */
bool top_processes_have(const struct top_processes *processes, const char *class);

/* Prints a sentence for each of the first processes, in lines of `columns` (0: no bound). Returns the number of
 * lines. */
size_t top_text_processes(FILE *out, const struct top_processes *processes, size_t columns);

#endif
