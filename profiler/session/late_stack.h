/*
 * User stacks that did not come whole with their event: none was copied when the sleep began, or a page of it was not there. A BPF program
 * on a switch cannot wait for a page, and the kernel holds those back that a thread has not touched for a while, to see on which node it does
 * (NUMA balancing), or has written them to swap. Both are read from outside.
 *
 *     n = late_stack_get(&late, event, &copy)
 *     unwind, which fills pcs and sps
 *     n = late_stack_complete(&late, event, sps, n_pcs, &copy)     if that ended too early
 *
 * All zero: it can be used. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_LATE_STACK_H
#define STALLPROF_PROFILER_LATE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct late_stack {
	uint64_t read;                /* stacks read from the waiting thread, for want of a copy */
	uint64_t failed;              /* … which had woken before they were read */
	uint64_t completed;           /* stacks whose missing pages led on */
	uint64_t cut;                 /* … that end where a page is missing */
	uint64_t second_ns, spent_ns; /* of reading missing pages, in the present second (CLOCK_MONOTONIC) */
	uint8_t bytes[ABI_USTACK_MAX];
};

/* The bytes that came with the event, else, if the thread is still in the same sleep, its present ones. *copy is valid until the next call
 * here. Returns how many, 0: there are none. */
size_t late_stack_get(struct late_stack *late, const struct abi_event *event, const void **copy);

/*
 * Adds the pages that the event lacks, up to the stack's top. Only if all that it has of the outermost frame that was found, the return address
 * into that among it, still stands as it was: then neither that frame nor those of its callers have gone on. `sps` are of the n frames that
 * were found, as symbolizer_unwind() gives them. A page may have to come from a disk: no more than a tenth of the time is spent so.
 * Returns how many bytes *copy has then, 0: no more than before. What came of it the caller counts (`completed`, `cut`).
 */
size_t late_stack_complete(struct late_stack *late, const struct abi_event *event, const uint64_t *sps,
                           size_t n, const void **copy);

/* Whether the event lacks pages. */
bool late_stack_lacks_pages(const struct abi_event *event);

#endif
