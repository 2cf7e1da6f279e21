/*
 * Which rank of a distributed job came last: in collectives the ranks wait until the last one is there, so that it waits least. Where collectives
 * run on GPUs, as NCCL's do, ranks wait for their own GPU, and it waits for the others'.
 */
#ifndef STALLPROF_PROFILER_REPORT_LAST_RANK_H
#define STALLPROF_PROFILER_REPORT_LAST_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger;
struct report_loop;
struct report_spins;

struct report_last_rank {
	size_t ranks;               /* that the ledger has, at least two; 0: none came last */
	uint32_t rank;              /* the one that did */
	int64_t ns, others_ns;      /* how long it waited for the others, and they on average */
	double share, others_share; /* of their own time */
	bool by_gpu;                /* these are waits for their GPUs */
};

/* Told where it waited for less than half as large a part of its time as the others, was there for half as long as all are on average, and they waited at
 * least a second in all. Where no rank is so by its waits for others, waits for GPUs tell, if all ranks took as many steps (`steps`: their class, or NULL where nothing speaks for collectives), but for
 * two or 2 %: ranks that do not wait for each other differ for reasons of their own. Looks at the loop's classes, or at all where none is known; what `spins`
 * has is waited, too. 0 or -ENOMEM. */
int report_last_rank_find(struct report_last_rank *out, struct ledger *ledger, const struct report_loop *loop,
                          const struct report_spins *spins, const char *steps);

#endif
