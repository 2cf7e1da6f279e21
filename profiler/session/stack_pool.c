/* Gives rows without a kept stack one of the kept stacks of their kind. */

#include "profiler/session/stack_pool.h"

#include <errno.h>
#include <stdlib.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct offer {
	const int64_t *ids;
	size_t n;
	uint64_t upto; /* sum of the weights to here */
};

struct pool {
	struct stack_pool_key key;
	struct offer *offers;
	size_t n_offers, room;
	uint64_t wanted_ns, taken_ns;
	size_t cursor;
	UT_hash_handle hh;
};

struct stack_pools {
	struct pool *by_key;
};

struct stack_pools *stack_pools_new(void)
{
	return calloc(1, sizeof(struct stack_pools));
}

void stack_pools_free(struct stack_pools *pools)
{
	struct pool *pool, *next;

	if (!pools)
		return;
	HASH_ITER (hh, pools->by_key, pool, next) {
		HASH_DEL(pools->by_key, pool);
		free(pool->offers);
		free(pool);
	}
	free(pools);
}

static struct pool *find(struct stack_pools *pools, const struct stack_pool_key *key)
{
	struct pool *pool;

	HASH_FIND(hh, pools->by_key, key, sizeof(*key), pool);
	return pool;
}

static struct pool *find_or_make(struct stack_pools *pools, const struct stack_pool_key *key)
{
	struct pool *pool = find(pools, key);

	if (pool)
		return pool;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return NULL;
	pool->key = *key;
	HASH_ADD(hh, pools->by_key, key, sizeof(pool->key), pool);
	if (pool->hh.tbl)
		return pool;
	free(pool);
	return NULL;
}

int stack_pools_offer(struct stack_pools *pools, const struct stack_pool_key *key, const int64_t *ids,
                      size_t n, uint64_t weight)
{
	struct pool *pool = find_or_make(pools, key);
	struct offer *more;
	size_t room;

	if (!pool)
		return -ENOMEM;
	if (pool->n_offers == pool->room) {
		room = pool->room ? 2 * pool->room : 16;
		more = realloc(pool->offers, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		pool->offers = more;
		pool->room = room;
	}
	pool->offers[pool->n_offers] = (struct offer){
		.ids = ids,
		.n = n,
		.upto = weight + (pool->n_offers ? pool->offers[pool->n_offers - 1].upto : 0),
	};
	pool->n_offers++;
	return 0;
}

int stack_pools_want(struct stack_pools *pools, const struct stack_pool_key *key, uint64_t ns)
{
	struct pool *pool = find_or_make(pools, key);

	if (!pool)
		return -ENOMEM;
	pool->wanted_ns += ns;
	return 0;
}

const int64_t *stack_pools_take(struct stack_pools *pools, const struct stack_pool_key *key, uint64_t ns,
                                size_t *n)
{
	struct pool *pool = find(pools, key);
	uint64_t middle, weight, at;

	if (!pool || !pool->n_offers || !pool->wanted_ns)
		return NULL;
	middle = pool->taken_ns + ns / 2;
	pool->taken_ns += ns;
	weight = pool->offers[pool->n_offers - 1].upto;
	at = (uint64_t)((unsigned __int128)weight * middle / pool->wanted_ns);
	while (pool->cursor + 1 < pool->n_offers && pool->offers[pool->cursor].upto <= at)
		pool->cursor++;
	*n = pool->offers[pool->cursor].n;
	return pool->offers[pool->cursor].ids;
}
