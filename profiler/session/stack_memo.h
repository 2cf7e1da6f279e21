/*
 * Remembers the locations of stacks within a window, by bytes that tell equal stacks: the addresses of a kernel stack; thread,
 * instruction and stack pointer of a sleeping thread, which determine its calls; what the BPF programs say tells its stacks.
 *
 *     memo = stack_memo_new();
 *     stack_memo_put(memo, &key, sizeof(key), ids, n);
 *     ids = stack_memo_get(memo, &key, sizeof(key), &n);   NULL: none
 *     stack_memo_clear(memo);                              at the end of a window: ids are of one profile
 *     stack_memo_free(memo);
 *
 * Bounded: a stack is forgotten when STACK_MEMO_MAX others and more, up to twice as many, were put in since it was last wanted.
 */
#ifndef STALLPROF_PROFILER_STACK_MEMO_H
#define STALLPROF_PROFILER_STACK_MEMO_H

#include <stddef.h>
#include <stdint.h>

#define STACK_MEMO_MAX 4096

struct stack_memo;

/* NULL without memory. */
struct stack_memo *stack_memo_new(void);
void stack_memo_free(struct stack_memo *memo);

/* Keeps copies, in place of what it has by that key; without memory it does nothing. A key's bytes are compared, so that it may have no
 * padding. */
void stack_memo_put(struct stack_memo *memo, const void *key, size_t size, const int64_t *ids, size_t n);
/* Valid until the next call. */
const int64_t *stack_memo_get(struct stack_memo *memo, const void *key, size_t size, size_t *n);
void stack_memo_clear(struct stack_memo *memo);

#endif
