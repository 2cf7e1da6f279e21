/*
 * The addresses of the locks (futexes) that were seen to be CPython's GIL: a wait whose stack was not copied is for it if the thread sleeps at
 * one of them. A condition variable has two, which it uses in turns.
 */
#ifndef STALLPROF_PROFILER_GIL_LOCKS_H
#define STALLPROF_PROFILER_GIL_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

#define GIL_LOCKS_MAX                                                                                        \
	512 /* of as many processes as have room; a newer one may take the place of an older one */

struct gil_lock {
	uint64_t process_start_ns, address;
	uint32_t tgid;
};

/* All 0: none is known. */
struct gil_locks {
	struct gil_lock known[GIL_LOCKS_MAX];
};

/* The event's wait, which must be one for a lock, is for the GIL. */
void gil_locks_note(struct gil_locks *locks, const struct abi_event *event);

/* Whether a wait at the same address was, of the same process. False for other waits than for locks. */
bool gil_locks_has(const struct gil_locks *locks, const struct abi_event *event);

#endif
