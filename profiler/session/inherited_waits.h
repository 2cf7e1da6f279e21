/*
 * What a thread waits for through another one: a loop waits for a lock, and who holds that for the disk.
 *
 *     waits = inherited_waits_new();
 *     n = inherited_waits_take(waits, event, class, device, waker, parts);    each sample of a wait, as they come
 *     inherited_waits_free(waits);
 *
 * The samples of a thread's waits are kept for a while. A wait that another thread has ended is split by what that one waited for
 * meanwhile; as its own waits were split the same way before, that leads to the end of a chain. For the rest the other was active: on a CPU,
 * waiting for one, or in waits that have no sample as they are too short. Of one without a tag nothing is known.
 *
 * Waits of the threshold and longer are sampled all, so that parts are as long as the clocks say. Of shorter ones stalls are sampled by
 * lot, and count for what they stand for; other waits are not sampled: in them a thread counts as active.
 *
 * Costs 3 KiB a thread, and for each wait up to KEPT_WAITS_MAX comparisons, for one that is split up to the square of that.
 */
#ifndef STALLPROF_PROFILER_INHERITED_WAITS_H
#define STALLPROF_PROFILER_INHERITED_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "profiler/session/kept_waits.h"

#define INHERITED_PARTS   8    /* of one wait at most: the longest */
#define INHERITED_THREADS 2048 /* the last that waited */

struct inherited_waits;

/* Who ended a wait. */
struct inherited_waker {
	uint32_t tid;
	const char *class; /* of its tag, which lives as long as the session; NULL: it held none */
	uint32_t creator;  /* the thread that made it during the wait; 0: it was there before */
	uint64_t born_ns;  /* when that was: what the creator did until then counts */
};

struct inherited_part {
	struct inherited what;
	uint64_t ns;
};

/* NULL without memory. */
struct inherited_waits *inherited_waits_new(void);
void inherited_waits_free(struct inherited_waits *waits);

/* Whether it is of a wait, and not of a CPU, or of a kernel thread's recovery. */
bool inherited_waits_wants(const struct abi_event *event);

/*
 * Keeps the sample of a wait; any other event is left alone. `class` of its tag and `device` live as long as `waits`. `waker`: who ended it; NULL:
 * nobody, or it is not known. Returns how many parts of the wait are known, the longest first; together they are no longer than the
 * wait. What there is no memory for is not kept, and so no part of another wait.
 */
size_t inherited_waits_take(struct inherited_waits *waits, const struct abi_event *event, const char *class,
                            const char *device, const struct inherited_waker *waker,
                            struct inherited_part parts[INHERITED_PARTS]);

/* How many threads were dropped, for others or without memory, though they had waited within ten seconds, since the start. */
uint64_t inherited_waits_dropped(const struct inherited_waits *waits);

#endif
