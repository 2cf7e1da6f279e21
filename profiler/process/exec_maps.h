/*
 * The live feed of executable mappings: what each process of the host has mapped to execute from, also
 * when it is gone by the time its samples are looked at, and a call for each file that comes into use.
 *
 *	maps = exec_maps_new(&handler, err, sizeof(err));
 *	every 100 ms or so, and when exec_maps_fd() is readable:
 *		exec_maps_poll(maps);			callbacks run in here
 *		exec_maps_feed(maps, pid, exec_maps_image(maps, pid, at_ns), fn, ctx);
 *							hands out what is known of a process at that time
 *	exec_maps_free(maps);
 *
 * Records come from perf (perf_rings.h), sorted by time, and are applied when they are a millisecond old. A forked
 * child has its parent's mappings until it executes another program. The mappings of a process that was there
 * before are read from /proc/PID/maps when the feed first hears of it; a child that was forked just before may so
 * be given one that its parent made just after. Of a process that has neither forked nor mapped anything since,
 * nothing is known, and /proc must be asked. One that has exited is remembered for EXEC_MAPS_LINGER_NS, what a
 * process had mapped before it executed another program for EXEC_MAPS_FORMER_NS. The kernel does not report unmapping: a mapping is removed when a later one covers it.
 *
 * Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_EXEC_MAPS_H
#define STALLPROF_PROFILER_EXEC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/process/map_table.h" /* struct exec_mapping, exec_mapping_fn */

struct exec_maps;

#define EXEC_MAPS_LINGER_NS 30000000000ULL
#define EXEC_MAPS_FORMER_NS 5000000000ULL
#define EXEC_MAPS_FILES_MAX 8192 /* verdicts remembered */

/* Each may be NULL. `mapping` lives until the call returns. */
struct exec_maps_handler {
	/*
	 * A process has mapped a file to execute from, at that time (CLOCK_MONOTONIC), some time ago. True: ask for the next
	 * process that maps it, too; false: it is of no interest, do not ask again unless the file is changed.
	 */
	bool (*file)(void *ctx, uint32_t pid, const struct exec_mapping *mapping, uint64_t at_ns);
	/* As `file`, of every mapping. */
	void (*mapped)(void *ctx, uint32_t pid, const struct exec_mapping *mapping, uint64_t at_ns);
	void (*fork)(void *ctx, uint32_t child, uint32_t parent); /* a new process, not a thread */
	/* Runs another program since then (CLOCK_MONOTONIC), some time ago. */
	void (*exec)(void *ctx, uint32_t pid, uint64_t since_ns);
	void (*exit)(void *ctx, uint32_t pid); /* its last thread has exited */
	/* The kernel has made code for BPF there; `name` NULL: that has gone. */
	void (*kernel_code)(void *ctx, uint64_t start, uint64_t bytes, const char *name);
	void (*kernel_code_lost)(void *ctx); /* some of that may not have been told */
	void *ctx;
};

struct exec_maps_stats {
	uint64_t records;           /* applied */
	uint64_t records_lost;      /* the kernel's rings were full: what is known may be incomplete */
	uint64_t processes_refused; /* the table was full */
	uint64_t mappings_refused;  /* the table was full */
	uint64_t mappings_dropped;  /* the oldest of a process with too many */
	uint64_t files_asked;       /* calls of `file` */
	size_t processes, mappings; /* held now */
	uint64_t cpus_not_covered;  /* now: mappings made there are not seen */
	uint64_t cpus_late;         /* times that a CPU came online: those made just before were not seen */
};

/* `handler` is copied, and may be NULL. NULL with errno set and a line in `err`. */
struct exec_maps *exec_maps_new(const struct exec_maps_handler *handler, char *err, size_t err_len);
void exec_maps_free(struct exec_maps *maps);

/* For poll and epoll; readable when many records wait, so that none is lost in a burst. */
int exec_maps_fd(const struct exec_maps *maps);

/* Applies the records that wait; returns how many, or -errno. */
int exec_maps_poll(struct exec_maps *maps);

/* The CPU went offline or came online (online_cpus.h). As records of it may have been missed, what is known is trusted no more
 * than after lost records: by the next poll. */
void exec_maps_cpu(struct exec_maps *maps, unsigned int cpu, bool online);

/* A process's mappings were read at `read_ns` (0: never), for a stack of `at_ns`. Right after each other, the process may have executed another
 * program in between, of which the records tell a moment later: these are waited for, 3 ms at most, and applied. False: there was no need. */
bool exec_maps_settle(struct exec_maps *maps, uint64_t read_ns, uint64_t at_ns);

/* If nothing is known of the process, reads now what it has mapped, so that this is known when it is gone. */
void exec_maps_meet(struct exec_maps *maps, uint32_t pid);

/* Applies what waits of the records up to that time (CLOCK_MONOTONIC), as exec_maps_poll() does: no sooner than a record may be applied
 * that was not at the last poll. */
void exec_maps_reach(struct exec_maps *maps, uint64_t at_ns);

/* Which program the process ran at that time (CLOCK_MONOTONIC), as map_table_image() has it. */
uint64_t exec_maps_image(const struct exec_maps *maps, uint32_t pid, uint64_t at_ns);

/*
 * Calls `mapping` for each mapping of that image of the process, in the order in which they were made (a later one hides an
 * earlier one where they overlap). 0: that is all of them; 1: there may be others; -ENOENT: nothing is known.
 */
int exec_maps_feed(struct exec_maps *maps, uint32_t pid, uint64_t image, exec_mapping_fn mapping, void *ctx);

/* The process's name, also when it has gone; "" when it is not known. Lives until the next call on `maps`. */
const char *exec_maps_name(const struct exec_maps *maps, uint32_t pid);

/* Whether every exit so far was told: no record was lost, no CPU left out, and the table never full. */
bool exec_maps_told_all(const struct exec_maps *maps);

void exec_maps_stats(const struct exec_maps *maps, struct exec_maps_stats *out);

/* For tests: applies one record as if it had come from the kernel. */
struct perf_event_header;
void exec_maps_apply(struct exec_maps *maps, const struct perf_event_header *record, uint64_t time_ns);

#endif
