/*
 * Places in the running kernel that CO-RE cannot find: read from its BTF, passed to the BPF programs as constants.
 */
#ifndef STALLPROF_PROFILER_KERNEL_PLACES_H
#define STALLPROF_PROFILER_KERNEL_PLACES_H

#include <stdbool.h>
#include <stdint.h>

struct btf;

struct kernel_places {
	unsigned int pause_arg; /* of the tracepoint balance_dirty_pages, counted from 0; 0: not known */
	bool maps_grow; /* since 6.1: what a program adds to a hash map may take its memory then, wherever it runs */
	bool ai_tags;   /* it is patched to keep tags in requests or bios (bpf/ai_tag.bpf.h) */
	bool throttles; /* it has blk-throttle */
	uint32_t
	        interrupt_bits; /* of the preemption count: NMIs, hard interrupts, a soft one that is served */
	int64_t preempt_count_from_rq; /* from a CPU's run queue to its preemption count, in bytes; 0: not known */
	int64_t storage_busy_from_rq; /* … to its count of users of task storage; 0: it refuses nobody for that */
};

void kernel_places_find(const struct btf *kernel, struct kernel_places *places);

#endif
