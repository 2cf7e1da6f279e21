/* Whether a stack that a CPU sample met in a call of a GPU's or communication library is work: of some of the functions that wait
 * (profiler/tracer/library_calls.h) a thread spends much of its time on the CPU with copies, memory or code. */
#ifndef STALLPROF_PROFILER_WORKING_CALL_H
#define STALLPROF_PROFILER_WORKING_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/* Whether threads wait for that on a CPU, too, looking at memory until it changes: by a stall's name. */
bool working_call_may_spin(const char *stall);

/* The innermost function of the table tells; where there is none it is no work. `ids`: locations, leaf first. */
bool working_call(const struct profile *profile, const int64_t *ids, size_t n);

#endif
