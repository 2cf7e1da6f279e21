/* Remembers stacks by the bytes of a key. */

#include "profiler/session/stack_memo.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct stack {
	UT_hash_handle hh;
	size_t n;
	int64_t ids[]; /* behind them the key */
};

struct stack_memo {
	struct stack *stacks;
};

struct stack_memo *stack_memo_new(void)
{
	return calloc(1, sizeof(struct stack_memo));
}

void stack_memo_clear(struct stack_memo *memo)
{
	struct stack *stack = memo->stacks, *next;

	HASH_CLEAR(hh, memo->stacks);
	for (; stack; stack = next) {
		next = stack->hh.next;
		free(stack);
	}
}

void stack_memo_free(struct stack_memo *memo)
{
	if (!memo)
		return;
	stack_memo_clear(memo);
	free(memo);
}

static struct stack *find(const struct stack_memo *memo, const void *key, size_t size)
{
	struct stack *stack;

	HASH_FIND(hh, memo->stacks, key, size, stack);
	return stack;
}

void stack_memo_put(struct stack_memo *memo, const void *key, size_t size, const int64_t *ids, size_t n)
{
	struct stack *stack;

	if (HASH_COUNT(memo->stacks) >= STACK_MEMO_MAX || find(memo, key, size))
		return;
	stack = malloc(sizeof(*stack) + n * sizeof(*ids) + size);
	if (!stack)
		return;
	stack->n = n;
	memcpy(stack->ids, ids, n * sizeof(*ids));
	memcpy(stack->ids + n, key, size);
	HASH_ADD_KEYPTR(hh, memo->stacks, stack->ids + n, size, stack);
	if (!stack->hh.tbl)
		free(stack);
}

const int64_t *stack_memo_get(const struct stack_memo *memo, const void *key, size_t size, size_t *n)
{
	const struct stack *stack = find(memo, key, size);

	if (!stack)
		return NULL;
	*n = stack->n;
	return stack->ids;
}
