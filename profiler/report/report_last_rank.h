/*
 * Which rank of a distributed job came last: in collectives the ranks wait until the last one is there, so that it waits least.
 */
#ifndef STALLPROF_PROFILER_REPORT_LAST_RANK_H
#define STALLPROF_PROFILER_REPORT_LAST_RANK_H

#include <stddef.h>
#include <stdint.h>

struct ledger;
struct report_loop;

struct report_last_rank {
	size_t ranks;               /* that the ledger has, at least two; 0: none came last */
	uint32_t rank;              /* the one that did */
	int64_t ns, others_ns;      /* how long it waited for the others, and they on average */
	double share, others_share; /* of their own time */
};

/* Told where it waited for less than half as large a part of its time as the others, was there for half as long as all are on average, and they waited at
 * least a second in all. Looks at the loop's classes, or at all where none is known. 0 or -ENOMEM. */
int report_last_rank_find(struct report_last_rank *out, struct ledger *ledger,
                          const struct report_loop *loop);

#endif
