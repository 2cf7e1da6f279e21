/*
 * Which rank of a distributed job came last: in collectives the ranks wait until the last one is there, so that it waits least.
 */
#ifndef STALLPROF_PROFILER_REPORT_LAST_RANK_H
#define STALLPROF_PROFILER_REPORT_LAST_RANK_H

#include <stddef.h>
#include <stdint.h>

struct ledger;

struct report_last_rank {
	size_t ranks;          /* that the ledger has, at least two; 0: none came last */
	uint32_t rank;         /* the one that did */
	int64_t ns, others_ns; /* how long it waited for the others, and they on average */
};

/* Told where it waited less than half as long as the others, and they at least a second in all. 0 or -ENOMEM. */
int report_last_rank_find(struct report_last_rank *out, struct ledger *ledger);

#endif
