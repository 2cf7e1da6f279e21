/*
 * Kernel stacks as locations of a profile. Most waits of a window have one of a few kernel stacks: each is resolved once, by its
 * addresses.
 *
 *     stacks = kernel_stacks_new(symbolizer)
 *     kernel_stacks_resolve(stacks, event, profile, ids, &n)
 *     kernel_stacks_clear(stacks)     at the end of a window, before its profile is freed
 *     kernel_stacks_free(stacks)
 */
#ifndef STALLPROF_PROFILER_KERNEL_STACKS_H
#define STALLPROF_PROFILER_KERNEL_STACKS_H

#include <stddef.h>
#include <stdint.h>

struct abi_event;
struct kernel_stacks;
struct profile;
struct symbolizer;

/* The symbolizer outlives it. NULL without memory. */
struct kernel_stacks *kernel_stacks_new(struct symbolizer *symbolizer);
void kernel_stacks_free(struct kernel_stacks *stacks);

/* Writes the event's kernel frames to ids[0 ... *n), leaf first, ABI_KSTACK_MAX at most; *n is 0 before. Frames of our own hooks are
 * left out (hook_frames.h). 0, or -errno of the profile. */
int kernel_stacks_resolve(struct kernel_stacks *stacks, const struct abi_event *event,
                          struct profile *profile, int64_t *ids, size_t *n);
void kernel_stacks_clear(struct kernel_stacks *stacks);

#endif
