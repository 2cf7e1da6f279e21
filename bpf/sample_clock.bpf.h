/* The samples of a CPU that never came. The kernel takes one for all that are due when it is late: interrupts were off for longer than a
 * period, or a virtual machine stood still, which it does not always say (steal). */
#ifndef STALLPROF_SAMPLE_CLOCK_BPF_H
#define STALLPROF_SAMPLE_CLOCK_BPF_H

#include "bpf/kernel.bpf.h"

/* Of one CPU, all 0 at first. */
struct sample_clock {
	u64 begin_ns; /* when the first sample was taken */
	u64 taken;    /* after the first */
	u64 skipped;  /* told already */
	u64 generation;
};

/* How many samples were skipped between the last and this one, which is taken now. A sample that is less than half a period late skips
 * none; in all the count is off by one at most. `generation`: of the clocks, which are new when it has changed; even while they are to be
 * detached, which they are last, or not yet in use, being attached first. */
ALWAYS u64 samples_skipped(struct sample_clock *clock, u64 now, u64 period_ns, u64 generation)
{
	u64 due, skipped;

	if (!(generation & 1))
		return 0;
	if (!clock->begin_ns || clock->generation != generation) {
		clock->begin_ns = now;
		clock->taken = clock->skipped = 0;
		clock->generation = generation;
		return 0;
	}
	clock->taken++;
	due = (now - clock->begin_ns + period_ns / 2) / period_ns;
	if (due <= clock->taken + clock->skipped)
		return 0;
	skipped = due - clock->taken - clock->skipped;
	clock->skipped += skipped;
	return skipped;
}

#endif
