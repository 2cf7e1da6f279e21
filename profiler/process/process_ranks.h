/*
 * Which rank of a distributed job a process is: RANK in its environment, as torchrun, accelerate and others set it, or
 * LOCAL_RANK where there is no RANK. What a rank starts (the workers of its data loader) has its environment, and so
 * its rank.
 *
 * An environment is read once a process, three times in as many seconds where it says no rank, as a rank that was just
 * forked has its launcher's until it executes; 256 KiB of it at most, and at most PROCESS_RANKS_READS a second of all, so
 * that a storm of short-lived processes costs no more: one that was not read for that reason is when it is met again.
 * Not thread-safe.
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

/* Of a process, which is its id and when it began, as the kernel's programs give them. NULL has no ranks. */
uint32_t process_ranks_of(struct process_ranks *ranks, uint32_t pid, uint64_t start_ns);

/* Once a window: forgets processes that were not asked for in the last two. */
void process_ranks_age(struct process_ranks *ranks);

/* The rank that an environment says: its variables, each ended by a NUL, as /proc/PID/environ has them. */
uint32_t process_rank_in(const char *environment, size_t size);

#endif
