/* Remembers stacks by the bytes of a key. */

#include "profiler/session/stack_memo.h"

#include <stdbool.h>
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
	struct stack *newer, *older; /* STACK_MEMO_MAX each */
};

struct stack_memo *stack_memo_new(void)
{
	return calloc(1, sizeof(struct stack_memo));
}

static void clear(struct stack **stacks)
{
	struct stack *stack = *stacks, *next;

	HASH_CLEAR(hh, *stacks);
	for (; stack; stack = next) {
		next = stack->hh.next;
		free(stack);
	}
}

void stack_memo_clear(struct stack_memo *memo)
{
	clear(&memo->newer);
	clear(&memo->older);
}

void stack_memo_free(struct stack_memo *memo)
{
	if (!memo)
		return;
	stack_memo_clear(memo);
	free(memo);
}

static void make_room(struct stack_memo *memo)
{
	if (HASH_COUNT(memo->newer) < STACK_MEMO_MAX)
		return;
	clear(&memo->older);
	memo->older = memo->newer;
	memo->newer = NULL;
}

/* Takes the stack over. False: there was no memory. */
static bool add(struct stack_memo *memo, struct stack *stack, size_t size)
{
	struct stack *before;

	HASH_FIND(hh, memo->newer, stack->ids + stack->n, size, before);
	if (before) {
		HASH_DEL(memo->newer, before);
		free(before);
	}
	HASH_ADD_KEYPTR(hh, memo->newer, stack->ids + stack->n, size, stack);
	if (stack->hh.tbl)
		return true;
	free(stack);
	return false;
}

void stack_memo_put(struct stack_memo *memo, const void *key, size_t size, const int64_t *ids, size_t n)
{
	struct stack *stack = malloc(sizeof(*stack) + n * sizeof(*ids) + size);

	if (!stack)
		return;
	stack->n = n;
	memcpy(stack->ids, ids, n * sizeof(*ids));
	memcpy(stack->ids + n, key, size);
	make_room(memo);
	add(memo, stack, size);
}

const int64_t *stack_memo_get(struct stack_memo *memo, const void *key, size_t size, size_t *n)
{
	struct stack *stack;

	HASH_FIND(hh, memo->newer, key, size, stack);
	if (!stack) {
		HASH_FIND(hh, memo->older, key, size, stack);
		if (!stack)
			return NULL;
		HASH_DEL(memo->older, stack);
		make_room(memo);
		if (!add(memo, stack, size))
			return NULL;
	}
	*n = stack->n;
	return stack->ids;
}
