/* What all programs on probes of user space need.
 *
 * Since Linux 6.13 the kernel gives a program whose frame is 64 bytes or larger a stack for each CPU, as it supposes that no program is
 * interrupted by itself there. That holds for all but those on probes of user space, in a kernel that may preempt them: another thread
 * that runs the same program on that CPU overwrites what the first has on its stack, and the first goes on under the other's tag (seen
 * with 7.2). A tail call anywhere in a program rules such a stack out, also one that is never made.
 */
#ifndef STALLPROF_UPROBE_BPF_H
#define STALLPROF_UPROBE_BPF_H

#include "bpf/kernel.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} no_programs SEC(".maps") __weak;

const volatile __weak bool never = false;

/* To stand in each program on a probe of user space. */
#define KEEP_OWN_STACK(ctx)                                                                                  \
	do {                                                                                                 \
		if (never)                                                                                   \
			bpf_tail_call(ctx, &no_programs, 0);                                                 \
	} while (0)

#endif
