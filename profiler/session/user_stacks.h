/*
 * The user's part of a window's stacks, by thread and place: for a wait of which it did not come.
 *
 * That is one without a copy: a thread that sleeps again at the same instruction with the same stack pointer is in the same calls, but for
 * Python's. And one that has ABI_STACK_AS_SENT, whose stack_id tells which of those with Python frames it has.
 */
#ifndef STALLPROF_PROFILER_USER_STACKS_H
#define STALLPROF_PROFILER_USER_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "profiler/session/stack_memo.h"

/* Keeps the locations that the event's own copy was resolved to, if others can be told by them. `stack_id`: by which those that are as it
 * was sent know it; 0: none do. */
void user_stacks_put(struct stack_memo *memo, const struct abi_event *event, uint64_t stack_id,
                     const int64_t *ids, size_t n);

/* Appends those of an event that came without its stack to ids[*n …], which has room for `room` in all. False: it came with its own,
 * or is not known. */
bool user_stacks_take(struct stack_memo *memo, const struct abi_event *event, int64_t *ids, size_t *n,
                      size_t room);

#endif
