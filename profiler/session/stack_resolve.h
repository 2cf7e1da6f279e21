/*
 * From an event's raw stack to locations of a profile: kernel frames, then the user's, leaf first.
 *
 * A frame that could not be read is named, never dropped: [unwind truncated] where the copy or the unwind tables
 * end before the thread's start does, [user stack not copied] where there was none. A CPython thread's evaluator
 * frames are replaced by its Python frames (python_merge.h), in the mapping [python].
 */
#ifndef STALLPROF_PROFILER_STACK_RESOLVE_H
#define STALLPROF_PROFILER_STACK_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

#define STACK_FRAMES_MAX 1000 /* what Pyroscope keeps */

struct process_table;
struct profile;
struct python_processes;
struct stack_memo;
struct stack_resolver;
struct stamp;
struct symbolizer;

/* All outlive it; `pythons` may be NULL: C frames of interpreters stay. NULL without memory. */
struct stack_resolver *stack_resolver_new(struct symbolizer *symbolizer, struct process_table *processes,
                                          struct python_processes *pythons);
void stack_resolver_free(struct stack_resolver *resolver);

/* Adds the locations to `profile` and writes their ids, leaf first, to ids[0 … *n), which has room for
 * STACK_FRAMES_MAX. `memo` has the profile's user stacks so far. 0, or -errno of the profile. */
int stack_resolve(struct stack_resolver *resolver, struct stack_memo *memo, const struct abi_event *event,
                  struct profile *profile, int64_t *ids, size_t *n);

/* What the BPF programs may know the stack by that was resolved last; NULL: nothing. *lost: they think that we have it, and we have not. */
const struct abi_known_stack *stack_resolver_known(const struct stack_resolver *resolver, bool *lost);

/* Before a profile is gone: nothing of it stands in another. */
void stack_resolver_forget(struct stack_resolver *resolver);

/* Adds to the stamp the counts since the last call: frames by source, ends of unwinding, stacks read from waiting
 * threads. */
int stack_resolver_describe(struct stack_resolver *resolver, struct stamp *stamp);

#endif
