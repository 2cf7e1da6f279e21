/*
 * Walks over the threads of those processes alone that have tagged ones. A walk over all comes to each thread of the host, which takes half a
 * microsecond: with 20,000 of them the ten walks of a second took 9 % of a CPU. The BPF programs note the processes (met_processes).
 */
#ifndef STALLPROF_PROFILER_PROCESS_WALKS_H
#define STALLPROF_PROFILER_PROCESS_WALKS_H

#include <stdint.h>

struct tracer;

/* `mode` as in tracer_iterate(). 0 or -errno; -E2BIG: a walk over all is due, is cheaper, or is all that this kernel has (before Linux 6.1). */
int process_walks_run(struct tracer *tracer, uint32_t mode);

/* Before and after a walk over all, which notes the processes anew. The first returns 0 or -errno. */
int process_walks_renew(struct tracer *tracer);
void process_walks_renewed(struct tracer *tracer);

#endif
