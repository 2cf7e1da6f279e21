/* Sums waits for other ranks by rank. */

#include "profiler/report/report_last_rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/report/report_loop.h"
#include "profiler/report/report_spins.h"

#define LEAST_NS 1000000000LL /* of the others' waits, for there to be something to tell */

/* By how much the steps of ranks that go together may differ at a recording's ends. */
#define STEPS_APART 2
#define STEPS_PART  50 /* one in so many */

struct rank {
	uint32_t rank;
	int64_t ns, wall_ns;
	uint64_t steps;
};

struct job {
	struct ledger *ledger;
	const struct report_loop *loop;
	const struct report_spins *spins;
	const char *steps;
	struct rank *ranks;
	size_t n;
};

static struct rank *rank_of(struct job *job, uint32_t rank)
{
	for (size_t i = 0; i < job->n; i++)
		if (job->ranks[i].rank == rank)
			return &job->ranks[i];
	job->ranks[job->n] = (struct rank){ .rank = rank };
	return &job->ranks[job->n++];
}

static bool counts(const struct job *job, const char *class)
{
	return !job->loop->n || report_loop_has(job->loop, class);
}

/* What ranks waited on a CPU: their processes are known by the ledger. Of several hosts two may have the same number: then it is not
 * known whose it was. */
static void add_spin(struct job *job, const struct report_spin *spin)
{
	uint32_t rank_and_1 = 0;
	struct rank *found;

	for (size_t i = 0; i < ledger_count(job->ledger); i++) {
		const struct ledger_row *row = ledger_at(job->ledger, i);

		if (!row->rank_and_1 || row->pid != spin->pid || strcmp(row->class, spin->class) != 0)
			continue;
		if (rank_and_1 && rank_and_1 != row->rank_and_1)
			return;
		rank_and_1 = row->rank_and_1;
	}
	if (!rank_and_1)
		return;
	found = rank_of(job, rank_and_1 - 1);
	found->ns = saturating_add(found->ns, spin->ns);
}

/* One that has no such row has waited for nobody. */
static void sum_by_rank(struct job *job, const char *cause)
{
	job->n = 0;
	for (size_t i = 0; i < ledger_count(job->ledger); i++) {
		const struct ledger_row *row = ledger_at(job->ledger, i);
		struct rank *found;

		if (!row->rank_and_1 || !counts(job, row->class))
			continue;
		found = rank_of(job, row->rank_and_1 - 1);
		found->wall_ns = saturating_add(found->wall_ns, row->ns);
		if (row->state == LEDGER_STALL && !strcmp(row->cause, cause))
			found->ns = saturating_add(found->ns, row->ns);
		found->steps += row->state == LEDGER_ONCPU && job->steps && !strcmp(row->class, job->steps);
	}
	for (size_t i = 0; i < job->spins->n; i++)
		if (!strcmp(job->spins->spin[i].cause, cause) && counts(job, job->spins->spin[i].class))
			add_spin(job, &job->spins->spin[i]);
}

/* By the exact tags that each has been on a CPU under. */
static bool in_lockstep(const struct job *job)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < job->n; i++) {
		least = job->ranks[i].steps < least ? job->ranks[i].steps : least;
		most = job->ranks[i].steps > most ? job->ranks[i].steps : most;
	}
	return least > 1 && (most - least <= STEPS_APART || (most - least) * STEPS_PART <= most);
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

int report_last_rank_find(struct report_last_rank *out, struct ledger *ledger, const struct report_loop *loop,
                          const struct report_spins *spins, const char *steps)
{
	size_t count = ledger_count(ledger);
	struct job job = { .ledger = ledger, .loop = loop, .spins = spins, .steps = steps };

	*out = (struct report_last_rank){ .ranks = 0 };
	if (!count || !ledger_at(ledger, 0))
		return count ? -ENOMEM : 0;
	job.ranks = calloc(count, sizeof(*job.ranks));
	if (!job.ranks)
		return -ENOMEM;
	sum_by_rank(&job, "collective");
	if (job.n > 1)
		choose(out, job.ranks, job.n);
	if (!out->ranks) {
		sum_by_rank(&job, "gpu_sync");
		if (job.n > 1 && in_lockstep(&job))
			choose(out, job.ranks, job.n);
		out->by_gpu = out->ranks > 0;
	}
	free(job.ranks);
	return 0;
}
