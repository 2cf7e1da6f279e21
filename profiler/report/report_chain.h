/*
 * Waits that are inherited: of threads that wait for others, which wait for something themselves. By class, by who ended the wait, and by
 * whose wait for what is at the end of the chain; threads between these two are not told.
 */
#ifndef STALLPROF_PROFILER_REPORT_CHAIN_H
#define STALLPROF_PROFILER_REPORT_CHAIN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct loaded_sample;
struct report_sums;

#define REPORT_CHAINS_MAX 64 /* that are kept, of all that are summed */

struct report_chain {
	char class[128], kind[32]; /* who waits, and what kind of wait that is: lock, pipe ... */
	char waker[128], from[128];
	char end[512]; /* "block_io on vda" */
	int64_t ns;
};

/* What a chain is made of. */
struct report_chain_parts {
	const char *class, *kind, *waker, *from, *stall, *device;
	int64_t ns;
};

struct report_chain report_chain_of(const struct report_chain_parts *parts);

struct report_chains {
	struct report_chain chain[REPORT_CHAINS_MAX]; /* the longest first */
	size_t count;
	int64_t first_ns; /* what the first one's class waited in all of them, kept or not */
};

/* Adds a sample that inherits. 0 or -ENOMEM. */
int report_chains_add(struct report_sums *sums, const struct loaded_sample *sample, int64_t ns);

/* Keeps the longest. */
void report_chains_take(struct report_chains *chains, struct report_sums *sums);

/* "train_step ← loader ← block_io on vda", "train_step ← loader (active)": each class once where it follows itself. */
void report_chain_text(FILE *out, const struct report_chain *chain);

#endif
