/*
 * The last waits of a thread, and for what they were (inherited_waits.h).
 *
 *     struct kept_waits kept = { .n = 0 };
 *     kept_waits_add(&kept, &span, &what, ns);       in the order in which they end
 *     kept_waits_forget(&kept, state, cause, begin); what turned out to be something else
 *
 * Where there are more than KEPT_WAITS_MAX, older ones for the same thing are made one, in which they lie evenly: the longer ago, the longer
 * such a one may be. Allocates nothing.
 */
#ifndef STALLPROF_PROFILER_KEPT_WAITS_H
#define STALLPROF_PROFILER_KEPT_WAITS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

#define KEPT_WAITS_MAX 64

/* What is waited for at the end of a chain. Compared byte by byte, and without padding. */
struct inherited {
	const char *class;  /* of the tag of the thread that waits for it; two are equal if they are one */
	const char *device; /* likewise; "": not known, or none */
	uint32_t state;     /* ABI_STALL or ABI_SLEEP; INHERITED_ACTIVE; 0: nothing is known */
	uint32_t cause;     /* enum abi_cause or abi_wait_kind; 0: active */
};

#define INHERITED_ACTIVE ABI_ONCPU

/* CLOCK_MONOTONIC */
struct span {
	uint64_t begin_ns, end_ns;
};

struct wait {
	struct span span;
	uint64_t ns; /* within it; may be more, if the wait was sampled by lot */
	struct inherited what;
};

struct kept_waits {
	size_t n;
	struct wait wait[KEPT_WAITS_MAX]; /* in the order in which they began to be kept */
};

static inline uint64_t span_ns(const struct span *span)
{
	return span->end_ns - span->begin_ns;
}

/* Adds a wait, unless it is of no time. */
void kept_waits_add(struct kept_waits *kept, const struct span *span, const struct inherited *what,
                    uint64_t ns);

/* Waits since begin_ns that were told as this state and cause are something else: they are kept no longer. */
void kept_waits_forget(struct kept_waits *kept, uint32_t state, uint32_t cause, uint64_t begin_ns);

#endif
