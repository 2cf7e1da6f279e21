/*
 * Adapts T, the length from which on a wait always keeps its stack, to the load. Stacks may come as a burst, as those of the ranks of a
 * distributed job do: there is room for a second's budget of bytes, which comes back at that rate. T is multiplied as they exceed it, and
 * halved ten times a second while they are below half of the budget, down to the configured
 * T. A quiet host keeps the stack of every wait that matters, a busy one those of the long waits and a fair sample
 * of the others.
 *
 * Stalls have a T of their own, and so have waits that are none: of those nothing below T is sampled, so that they may take four times
 * the budget; more stacks of short stalls would tell little that a sample does not tell, and cost much. Samples of CPUs have one, too, that
 * is no less than their clock's period, up to which each is kept, and four times the budget likewise: there are as many of them as CPUs,
 * each with the whole stack.
 *
 *     opts.threshold_ns = sampling_threshold_first(sampling);     for tracer_new()
 *     sampling_threshold_begin(&t, sampling, tracer, now);
 *     sampling_threshold_hold(&t, now);                           at every tick
 *     sampling_threshold_take(&t);                                at the end of a window
 */
#ifndef STALLPROF_PROFILER_SAMPLING_THRESHOLD_H
#define STALLPROF_PROFILER_SAMPLING_THRESHOLD_H

#include <stdint.h>

#include "bpf/abi.h"

struct config_sampling;
struct tracer;

/* One T. */
struct sampling_budget {
	enum abi_waits waits; /* that it is for */
	uint64_t per_second;  /* bytes; 0: any number */
	uint64_t room;        /* bytes that may come at once */
	uint64_t checked_ns, last_bytes;
	uint64_t base_ns; /* the least */
	uint64_t max_ns;  /* of this window */
};

struct sampling_threshold {
	struct tracer *tracer;
	struct sampling_budget budgets[ABI_WAITS_MAX];
};

/* T at the start, when the load is not known yet; if T is fixed, the configured one. */
uint64_t sampling_threshold_first(const struct config_sampling *sampling);

/* Times are CLOCK_MONOTONIC. The tracer outlives it, and has the first T of each. */
void sampling_threshold_begin(struct sampling_threshold *t, const struct config_sampling *sampling,
                              struct tracer *tracer, uint64_t now_ns);
void sampling_threshold_hold(struct sampling_threshold *t, uint64_t now_ns);

/* The largest T since the last call. */
uint64_t sampling_threshold_take(struct sampling_threshold *t, enum abi_waits waits);

#endif
