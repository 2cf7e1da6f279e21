/*
 * Gives stacks to rows of the ledger whose own waits' stacks were not kept.
 *
 * A tag with an id of its own for each step has ledger rows of a few waits, too short for one of their stacks to be
 * kept. The kept waits of the same class of tags, process, cause and device are a fair sample of them all: so such
 * a row is given one of their stacks, each as often as its weight says. Rows take their places on the pool's line
 * one after the other:
 *
 *     weights of the kept    |---- a ----|-- b --|-- c --|
 *     rows that want one     |1|-2-|1|2|-- 1 --|2|1|- 3 -|     each gets the stack above its middle
 *
 * Call stack_pools_offer() and stack_pools_want() for all rows, then stack_pools_take() for each that wants one.
 */
#ifndef STALLPROF_PROFILER_STACK_POOL_H
#define STALLPROF_PROFILER_STACK_POOL_H

#include <stddef.h>
#include <stdint.h>

struct stack_pools;

/* Rows and stacks of equal keys share a pool. Clear a key before filling it: it is compared byte by byte. */
struct stack_pool_key {
	const char *class; /* compared as a pointer */
	uint64_t process_start_ns;
	uint32_t tgid, dev;
	uint32_t state, cause;
};

struct stack_pools *stack_pools_new(void);
void stack_pools_free(struct stack_pools *pools);

/* Adds a kept stack; `ids` must live as long as the pools. 0 or -ENOMEM. */
int stack_pools_offer(struct stack_pools *pools, const struct stack_pool_key *key, const int64_t *ids,
                      size_t n, uint64_t weight);
/* Announces a row of `ns` that will take a stack. 0 or -ENOMEM. */
int stack_pools_want(struct stack_pools *pools, const struct stack_pool_key *key, uint64_t ns);
/* Returns the stack for such a row, and its length in *n; NULL when the pool has none. */
const int64_t *stack_pools_take(struct stack_pools *pools, const struct stack_pool_key *key, uint64_t ns,
                                size_t *n);

#endif
