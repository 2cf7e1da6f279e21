/* Sums waits that are inherited, and writes them. */

#include "profiler/report/report_chain.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/format/saturating.h"
#include "profiler/loaded/loaded_sample.h"

struct report_chain report_chain_of(const struct report_chain_parts *parts)
{
	struct report_chain chain = { .ns = parts->ns };

	snprintf(chain.class, sizeof(chain.class), "%s", parts->class);
	snprintf(chain.kind, sizeof(chain.kind), "%s", parts->kind);
	snprintf(chain.waker, sizeof(chain.waker), "%s", parts->waker);
	snprintf(chain.from, sizeof(chain.from), "%s", parts->from);
	snprintf(chain.end, sizeof(chain.end), "%s%s%s", parts->stall, *parts->device ? " on " : "",
	         parts->device);
	return chain;
}

static int same(const struct report_chain *a, const struct report_chain *b)
{
	return !strcmp(a->class, b->class) && !strcmp(a->kind, b->kind) && !strcmp(a->waker, b->waker) &&
	       !strcmp(a->from, b->from) && !strcmp(a->end, b->end);
}

static struct report_chain *shortest(struct report_chains *chains)
{
	struct report_chain *found = &chains->chain[0];

	for (size_t i = 1; i < chains->count; i++)
		if (chains->chain[i].ns < found->ns)
			found = &chains->chain[i];
	return found;
}

void report_chains_add(struct report_chains *chains, const struct loaded_sample *sample, int64_t ns)
{
	const struct report_chain_parts parts = { .class = sample->class,
		                                  .kind = sample->stall,
		                                  .waker = sample->waker,
		                                  .from = sample->inherited_from,
		                                  .stall = sample->inherited_stall,
		                                  .device = sample->inherited_device };
	struct report_chain chain = report_chain_of(&parts), *at;
	size_t i = 0;

	while (i < chains->count && !same(&chains->chain[i], &chain))
		i++;
	at = &chains->chain[i];
	if (i == REPORT_CHAINS_MAX) {
		at = shortest(chains);
		if (at->ns < ns)
			*at = chain;
		else
			return;
	} else if (i == chains->count) {
		chains->chain[chains->count++] = chain;
	}
	at->ns = saturating_add(at->ns, ns);
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
	if (strcmp(chain->end, LOADED_ACTIVE) != 0) {
		if (strcmp(chain->from, before) != 0)
			fprintf(out, " ← %s", chain->from);
		fprintf(out, " ← %s", chain->end);
	} else if (strcmp(chain->from, before) != 0) {
		fprintf(out, " (%s; it held %s when the wait ended)", chain->end, chain->from);
	} else {
		fprintf(out, " (%s)", chain->end);
	}
}

int64_t report_chains_of(const struct report_chains *chains, const char *class)
{
	int64_t ns = 0;

	for (size_t i = 0; i < chains->count; i++)
		if (!strcmp(chains->chain[i].class, class))
			ns = saturating_add(ns, chains->chain[i].ns);
	return ns;
}
