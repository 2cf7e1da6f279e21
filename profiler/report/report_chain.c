/* Sums waits that are inherited, and writes them. */

#include "profiler/report/report_chain.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/format/saturating.h"
#include "profiler/loaded/loaded_sample.h"

static struct report_chain chain_of(const struct loaded_sample *sample)
{
	struct report_chain chain = { .ns = 0 };
	const char *device = sample->inherited_device;

	snprintf(chain.class, sizeof(chain.class), "%s", sample->class);
	snprintf(chain.kind, sizeof(chain.kind), "%s", sample->stall);
	snprintf(chain.waker, sizeof(chain.waker), "%s", sample->waker);
	snprintf(chain.from, sizeof(chain.from), "%s", sample->inherited_from);
	snprintf(chain.end, sizeof(chain.end), "%s%s%s", sample->inherited_stall, *device ? " on " : "",
	         device);
	return chain;
}

static int same(const struct report_chain *a, const struct report_chain *b)
{
	return !strcmp(a->class, b->class) && !strcmp(a->kind, b->kind) && !strcmp(a->waker, b->waker) &&
	       !strcmp(a->from, b->from) && !strcmp(a->end, b->end);
}

void report_chains_add(struct report_chains *chains, const struct loaded_sample *sample, int64_t ns)
{
	struct report_chain chain = chain_of(sample);
	size_t i = 0;

	while (i < chains->count && !same(&chains->chain[i], &chain))
		i++;
	if (i == REPORT_CHAINS_MAX)
		return;
	if (i == chains->count)
		chains->chain[chains->count++] = chain;
	chains->chain[i].ns = saturating_add(chains->chain[i].ns, ns);
}

static int longest_first(const void *left, const void *right)
{
	const struct report_chain *a = left, *b = right;

	return a->ns != b->ns ? (a->ns < b->ns ? 1 : -1) : strcmp(a->class, b->class);
}

void report_chains_sort(struct report_chains *chains)
{
	qsort(chains->chain, chains->count, sizeof(chains->chain[0]), longest_first);
}

void report_chain_text(FILE *out, const struct report_chain *chain)
{
	const char *before = *chain->waker ? chain->waker : chain->class;

	fputs(chain->class, out);
	if (strcmp(before, chain->class) != 0)
		fprintf(out, " ← %s", before);
	if (strcmp(chain->from, before) != 0)
		fprintf(out, " ← %s", chain->from);
	fprintf(out, " ← %s", chain->end);
}
