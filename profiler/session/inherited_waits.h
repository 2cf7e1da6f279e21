/*
 * What a thread waits for through another one: a loop waits for a lock, and who holds that for the disk.
 *
 *     waits = inherited_waits_new();
 *     n = inherited_waits_take(waits, event, waker, parts);    each sample of a wait, in the order in which they come
 *     inherited_waits_free(waits);
 *
 * The samples of a thread's waits are kept for a while. A wait that another thread has ended is split by what that one waited for
 * meanwhile; as its own waits were split the same way before, that leads to the end of a chain. What is left of the wait is no part: the
 * other was on a CPU or a run queue, or its waits are not known.
 *
 * Waits of the threshold and longer are sampled all, so that parts are as long as the clocks say. Shorter ones are sampled by lot: each
 * is taken for one as long as it stands for. Where a thread has more waits than are kept, those for the same thing that lie closest
 * together are taken for one, in which they lie evenly.
 */
#ifndef STALLPROF_PROFILER_INHERITED_WAITS_H
#define STALLPROF_PROFILER_INHERITED_WAITS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

#define INHERITED_PARTS   4    /* of one wait at most: the longest */
#define INHERITED_KEPT    64   /* waits of a thread */
#define INHERITED_THREADS 2048 /* the last that waited */

struct inherited_waits;

/* What is waited for at the end of a chain. Compared byte by byte, and without padding. */
struct inherited {
	const char *class; /* of the tag of the thread that waits for it; two are equal if they are one */
	uint32_t tgid;
	uint32_t dev;   /* 0: not known, or none */
	uint32_t state; /* ABI_STALL or ABI_SLEEP */
	uint32_t cause; /* enum abi_cause or abi_wait_kind */
};

struct inherited_part {
	struct inherited what;
	uint64_t ns;
};

/* NULL without memory. */
struct inherited_waits *inherited_waits_new(void);
void inherited_waits_free(struct inherited_waits *waits);

/*
 * Keeps the sample of a wait; any other event is left alone. `class`: of its tag, which lives as long as `waits`. `waker`: the thread that
 * ended it; 0: none, or not known. Returns how many parts of the wait are known, the longest first; together they are no longer than the
 * wait. What there is no memory for is not kept, and so no part of another wait.
 */
size_t inherited_waits_take(struct inherited_waits *waits, const struct abi_event *event, const char *class,
                            uint32_t waker, struct inherited_part parts[INHERITED_PARTS]);

#endif
