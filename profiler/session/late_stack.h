/*
 * User stacks that did not come whole with their event: none was copied when the sleep began, or a page of it was not there. A BPF program
 * on a switch cannot wait for a page, and the kernel holds those back that a thread has not touched for a while, to see on which node it does
 * (NUMA balancing), or has written them to swap. Both are read from outside.
 *
 *     n = late_stack_get(&late, event, &copy)
 *     unwind, which fills pcs and sps
 *     n = late_stack_complete(&late, event, pcs, sps, n_pcs, &copy)     if that ended too early
 *
 * All zero: it can be used. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_LATE_STACK_H
#define STALLPROF_PROFILER_LATE_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct late_stack {
	uint64_t read;      /* stacks read from the waiting thread, for want of a copy */
	uint64_t failed;    /* … which had woken before they were read */
	uint64_t completed; /* stacks whose missing pages were read */
	uint64_t cut;       /* … were not */
	uint8_t bytes[ABI_USTACK_MAX];
};

/* The bytes that came with the event, else, if the thread is still in the same sleep, its present ones. *copy is valid until the next call
 * here. Returns how many, 0: there are none. */
size_t late_stack_get(struct late_stack *late, const struct abi_event *event, const void **copy);

/*
 * Adds the pages that the event lacks, where it does, and the thread has not returned from the outermost frame that was found in those that
 * it has: then its callers' have not changed since. pcs and sps are of the n frames that were found, as symbolizer_unwind() gives them.
 * Returns how many bytes *copy has then, 0: no more than before.
 */
size_t late_stack_complete(struct late_stack *late, const struct abi_event *event, const uint64_t *pcs,
                           const uint64_t *sps, size_t n, const void **copy);

#endif
