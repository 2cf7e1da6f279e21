/* Remembers user stacks by thread, instruction and stack pointer. */

#include "profiler/session/user_stack_memo.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct stack {
	struct user_stack_key key;
	UT_hash_handle hh;
	size_t n;
	int64_t ids[];
};

struct user_stack_memo {
	struct stack *stacks;
};

_Static_assert(sizeof(struct user_stack_key) == 40, "no padding");

struct user_stack_memo *user_stack_memo_new(void)
{
	return calloc(1, sizeof(struct user_stack_memo));
}

void user_stack_memo_clear(struct user_stack_memo *memo)
{
	struct stack *stack = memo->stacks, *next;

	HASH_CLEAR(hh, memo->stacks);
	for (; stack; stack = next) {
		next = stack->hh.next;
		free(stack);
	}
}

void user_stack_memo_free(struct user_stack_memo *memo)
{
	if (!memo)
		return;
	user_stack_memo_clear(memo);
	free(memo);
}

static struct stack *find(const struct user_stack_memo *memo, const struct user_stack_key *key)
{
	struct stack *stack;

	HASH_FIND(hh, memo->stacks, key, sizeof(*key), stack);
	return stack;
}

void user_stack_memo_put(struct user_stack_memo *memo, const struct user_stack_key *key, const int64_t *ids,
                         size_t n)
{
	struct stack *stack;

	if (HASH_COUNT(memo->stacks) >= USER_STACK_MEMO_MAX || find(memo, key))
		return;
	stack = malloc(sizeof(*stack) + n * sizeof(*ids));
	if (!stack)
		return;
	stack->key = *key;
	stack->n = n;
	memcpy(stack->ids, ids, n * sizeof(*ids));
	HASH_ADD(hh, memo->stacks, key, sizeof(stack->key), stack);
	if (!stack->hh.tbl)
		free(stack);
}

const int64_t *user_stack_memo_get(const struct user_stack_memo *memo, const struct user_stack_key *key,
                                   size_t *n)
{
	const struct stack *stack = find(memo, key);

	if (!stack)
		return NULL;
	*n = stack->n;
	return stack->ids;
}
