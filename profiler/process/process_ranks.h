/*
 * Which rank of a distributed job a process is: RANK in its environment, as torchrun, accelerate and others set it; where there is none,
 * LOCAL_RANK; or OMPI_COMM_WORLD_RANK, PMIX_RANK or PMI_RANK, as MPI's launchers do. What a rank starts (the workers of its data
 * loader) has its environment, and so its rank.
 *
 * Each process's environment is read once, and again when it executes another program: a rank that was just forked
 * has its launcher's environment until then. Where no rank is named it is read three times, a second apart, for the
 * case that nobody told of an exec. At most 256 KiB of an environment are read, and
 * at most PROCESS_RANKS_READS environments a second, so that a storm of short-lived processes costs no more; a
 * process skipped for that is read when it is met again. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_PROCESS_RANKS_H
#define STALLPROF_PROFILER_PROCESS_RANKS_H

#include <stddef.h>
#include <stdint.h>

#define PROCESS_RANK_NONE   UINT32_MAX
#define PROCESS_RANK_MAX    9999999
#define PROCESS_RANKS_READS 200

struct process_ranks;

/* NULL with errno ENOMEM. */
struct process_ranks *process_ranks_new(void);
void process_ranks_free(struct process_ranks *ranks);

/* The rank of a process, by pid and start time as the BPF programs give them; PROCESS_RANK_NONE if it has none, or
 * `ranks` is NULL. */
uint32_t process_ranks_of(struct process_ranks *ranks, uint32_t pid, uint64_t start_ns);

/* The process runs another program from now on, with an environment of its own. */
void process_ranks_exec(struct process_ranks *ranks, uint32_t pid);

/* Call it once a window: forgets processes that were not asked for in the last two. */
void process_ranks_age(struct process_ranks *ranks);

/* The rank that an environment names, PROCESS_RANK_NONE if none. It holds variables, each ended by a NUL, as
 * /proc/PID/environ has them. */
uint32_t process_rank_in(const char *environment, size_t size);

#endif
