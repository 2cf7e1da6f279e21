/* Sums waits for other ranks by rank. */

#include "profiler/report/report_last_rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/report/report_loop.h"

#define LEAST_NS 1000000000LL /* of the others' waits, for there to be something to tell */

struct rank {
	uint32_t rank;
	int64_t ns, wall_ns;
};

static struct rank *rank_of(struct rank *ranks, size_t *n, uint32_t rank)
{
	for (size_t i = 0; i < *n; i++)
		if (ranks[i].rank == rank)
			return &ranks[i];
	ranks[*n] = (struct rank){ .rank = rank };
	return &ranks[(*n)++];
}

/* One that has no such row has waited for nobody. */
static size_t sum_by_rank(struct rank *ranks, struct ledger *ledger, const struct report_loop *loop)
{
	size_t n = 0;

	for (size_t i = 0; i < ledger_count(ledger); i++) {
		const struct ledger_row *row = ledger_at(ledger, i);
		struct rank *found;

		if (!row->rank_and_1 || (loop->n && !report_loop_has(loop, row->class)))
			continue;
		found = rank_of(ranks, &n, row->rank_and_1 - 1);
		found->wall_ns = saturating_add(found->wall_ns, row->ns);
		if (row->state == LEDGER_STALL && !strcmp(row->cause, "collective"))
			found->ns = saturating_add(found->ns, row->ns);
	}
	return n;
}

static double share_of(const struct rank *rank)
{
	return rank->wall_ns > 0 ? (double)rank->ns / (double)rank->wall_ns : 0;
}

/* What the ranks, but for `left_out` (NULL: none), come to. */
static struct rank sum_of(const struct rank *ranks, size_t n, const struct rank *left_out)
{
	struct rank sum = { .ns = 0 };

	for (size_t i = 0; i < n; i++) {
		if (&ranks[i] == left_out)
			continue;
		sum.ns = saturating_add(sum.ns, ranks[i].ns);
		sum.wall_ns = saturating_add(sum.wall_ns, ranks[i].wall_ns);
	}
	return sum;
}

/* By shares of their own time: one that was recorded for less of it has waited less for that reason alone. Those that were there for less
 * than half as long as all are on average may be another job's. */
static void choose(struct report_last_rank *out, const struct rank *ranks, size_t n)
{
	struct rank all = sum_of(ranks, n, NULL), others;
	const struct rank *last = NULL;

	for (size_t i = 0; i < n; i++)
		if (2 * (double)ranks[i].wall_ns * (double)n >= (double)all.wall_ns &&
		    (!last || share_of(&ranks[i]) < share_of(last)))
			last = &ranks[i];
	if (!last)
		return;
	others = sum_of(ranks, n, last);
	if (others.ns < LEAST_NS || 2 * share_of(last) >= share_of(&others))
		return;
	*out = (struct report_last_rank){ .ranks = n,
		                          .rank = last->rank,
		                          .ns = last->ns,
		                          .others_ns = others.ns / (int64_t)(n - 1),
		                          .share = share_of(last),
		                          .others_share = share_of(&others) };
}

int report_last_rank_find(struct report_last_rank *out, struct ledger *ledger, const struct report_loop *loop)
{
	size_t count = ledger_count(ledger), n;
	struct rank *ranks;

	*out = (struct report_last_rank){ .ranks = 0 };
	if (!count || !ledger_at(ledger, 0))
		return count ? -ENOMEM : 0;
	ranks = calloc(count, sizeof(*ranks));
	if (!ranks)
		return -ENOMEM;
	n = sum_by_rank(ranks, ledger, loop);
	if (n > 1)
		choose(out, ranks, n);
	free(ranks);
	return 0;
}
