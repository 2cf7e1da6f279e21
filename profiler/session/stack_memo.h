/*
 * Remembers the locations of stacks within a window, by bytes that tell equal stacks: the addresses of a kernel stack; thread,
 * instruction and stack pointer of a sleeping thread, which determine its calls.
 *
 *     memo = stack_memo_new();
 *     stack_memo_put(memo, &key, sizeof(key), ids, n);
 *     ids = stack_memo_get(memo, &key, sizeof(key), &n);   NULL: none
 *     stack_memo_clear(memo);                              at the end of a window: ids are of one profile
 *     stack_memo_free(memo);
 *
 * Bounded: beyond STACK_MEMO_MAX stacks none is added until it is cleared.
 */
#ifndef STALLPROF_PROFILER_STACK_MEMO_H
#define STALLPROF_PROFILER_STACK_MEMO_H

#include <stddef.h>
#include <stdint.h>

#define STACK_MEMO_MAX 8192

struct stack_memo;

/* NULL without memory. */
struct stack_memo *stack_memo_new(void);
void stack_memo_free(struct stack_memo *memo);

/* Keeps copies; without memory, or where the key is known already, it does nothing. A key's bytes are compared, so that it may have no
 * padding. */
void stack_memo_put(struct stack_memo *memo, const void *key, size_t size, const int64_t *ids, size_t n);
/* Valid until the next put or clear. */
const int64_t *stack_memo_get(const struct stack_memo *memo, const void *key, size_t size, size_t *n);
void stack_memo_clear(struct stack_memo *memo);

#endif
