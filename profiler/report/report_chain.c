/* Sums waits that are inherited, and writes them. */

#include "profiler/report/report_chain.h"

#include <string.h>

#include "profiler/format/saturating.h"
#include "profiler/loaded/loaded_sample.h"
#include "profiler/report/report_sums.h"

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

int report_chains_add(struct report_sums *sums, const struct loaded_sample *sample, int64_t ns)
{
	const char *const parts[] = { sample->class,           sample->stall,
		                      sample->waker,           sample->inherited_from,
		                      sample->inherited_stall, sample->inherited_device };

	return report_sums_add(sums, parts, sizeof(parts) / sizeof(parts[0]), ns);
}

static struct report_chain chain_of(const struct report_sum *sum)
{
	return report_chain_of(&(struct report_chain_parts){ .class = sum->part[0],
	                                                     .kind = sum->part[1],
	                                                     .waker = sum->part[2],
	                                                     .from = sum->part[3],
	                                                     .stall = sum->part[4],
	                                                     .device = sum->part[5],
	                                                     .ns = sum->ns });
}

void report_chains_take(struct report_chains *chains, struct report_sums *sums)
{
	const struct report_sum *first, *sum;

	report_sums_sort(sums);
	*chains = (struct report_chains){ .count = 0 };
	first = report_sums_first(sums);
	for (sum = first; sum; sum = report_sums_next(sum)) {
		if (chains->count < REPORT_CHAINS_MAX)
			chains->chain[chains->count++] = chain_of(sum);
		if (!strcmp(sum->part[0], first->part[0]))
			chains->first_ns = saturating_add(chains->first_ns, sum->ns);
	}
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
